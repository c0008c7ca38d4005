package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/explain"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// windowsDir is where Porcupine's windows lie, beside the report.
const windowsDir = "porcupine"

// writeWindows writes a window of each row whose shown cell is broken, and returns those that there are; with an error,
// those that there are by then. Beside a report that goes to a device or a pipe there is no place for any.
func writeWindows(run *history.Run, report string) (map[*history.Cell]html.Window, error) {
	if fi, err := os.Stat(report); err == nil && !fi.Mode().IsRegular() {
		return nil, nil
	}
	windows := map[*history.Cell]html.Window{}
	rows := catalog.Assess(run.Cells)
	for i, name := range html.Names(rows) {
		c := rows[i].Shown()
		w := explain.First(c)
		switch {
		case w == nil:
		case w.Doubt != "":
			windows[c] = html.Window{Doubt: w.Doubt}
		default:
			file := path.Join(windowsDir, name+".html")
			if err := writeWindow(filepath.Join(filepath.Dir(report), filepath.FromSlash(file)), w); err != nil {
				return windows, err
			}
			windows[c] = html.Window{File: file}
		}
	}
	return windows, nil
}

func writeWindow(file string, w *explain.Window) error {
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return history.WriteFile(file, w.Write)
}
