package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Results is the name of the results of a small run in a directory.
const Results = "results.json"

// Names lists all names that the results of a run can have, given the name for a small one.
func Names(small string) []string {
	return []string{small, small + ".gz", strings.TrimSuffix(small, ".json") + ".jsonl.gz"}
}

// Name returns the file name of a run's results, given the name for a small run, which ends in ".json".
func Name(small string, run *Run) string {
	names := Names(small)
	switch room := room(Packed); {
	case run.ops() >= Large:
		return names[2]
	case errors.Is(encode(&room, run, Document), errFull):
		return names[1]
	}
	return names[0]
}

// room counts down the bytes that are written to it, and refuses more.
type room int

var errFull = errors.New("too large")

func (r *room) Write(b []byte) (int, error) {
	if *r -= room(len(b)); *r <= 0 {
		return 0, errFull
	}
	return len(b), nil
}

// Find returns the file that a path means: the results in it if it is a directory, or, if there is no such file, the
// results of that name which are compressed. So nobody has to know how large a run was.
func Find(path string) (string, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		return path, nil
	}
	if err != nil {
		if found := present(Names(path)[1:]); len(found) > 0 {
			return found[0], nil
		}
		return path, nil // and opening it says why not
	}
	var names []string
	for _, name := range Names(Results) {
		names = append(names, filepath.Join(path, name))
	}
	switch found := present(names); len(found) {
	case 0:
		return "", fmt.Errorf("the directory %s holds no %s: name one that --out wrote", path, Results)
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("the directory %s holds the results of several runs: name one of %s", path,
			strings.Join(found, ", "))
	}
}

func present(paths []string) (found []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}
