package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

const (
	matrixFile, pageFile = "matrix.txt", "report.html"
	// StageLog is the log of a class on the stage.
	StageLog = "stage.jsonl"
	// StageSheet is the page with its rounds.
	StageSheet = "stage.html"
	// runsDir holds the runs before the last one, each in a directory that is named after the time of its end.
	runsDir, runTime = "runs", "20060102-150405.000"
	// keptRuns is the number of them that are kept.
	keptRuns = 5
)

// files are those that [WriteAll] and a class on the stage write to a directory.
var files = []string{history.Results, matrixFile, pageFile, porcupineDir, StageLog, StageSheet}

// SetAside moves the files of the last run out of the way of those of the next one, and removes the oldest runs. It
// touches no file that is not of a run.
func SetAside(dir string) error {
	var last os.FileInfo
	for _, name := range slices.Backward(files) { // a class that ended before any verdict has its log alone
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			last = info
		}
	}
	if last == nil {
		return nil
	}
	runs := filepath.Join(dir, runsDir)
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return err
	}
	for ended := last.ModTime().UTC(); ; ended = ended.Add(time.Millisecond) {
		to := filepath.Join(runs, ended.Format(runTime))
		err := os.Mkdir(to, 0o755)
		if err == nil {
			return errors.Join(move(dir, to), removeOldest(runs))
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// move moves those files of a run that are there.
func move(from, to string) error {
	for _, name := range files {
		err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func removeOldest(runs string) error {
	entries, err := os.ReadDir(runs) // by name, and so by time
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		_, err := time.Parse(runTime, e.Name())
		return err != nil
	})
	for _, e := range entries[:max(0, len(entries)-keptRuns)] {
		dir := filepath.Join(runs, e.Name())
		pages, _ := filepath.Glob(filepath.Join(dir, porcupineDir, "*.html"))
		for _, file := range pages {
			_ = os.Remove(file)
		}
		for _, name := range files {
			_ = os.Remove(filepath.Join(dir, name))
		}
		_ = os.Remove(dir) // where a stranger's file is in it, it stays
	}
	return nil
}
