package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// porcupineDir is the directory of Porcupine's pages, beside the report.
const porcupineDir = "porcupine"

// writePorcupine writes Porcupine's page of each row whose shown cell is broken. It returns the pages of the cells, and
// with an error those that were written before it. A report that goes to a device or a pipe gets no pages beside it.
func writePorcupine(rows []*catalog.Row, report string) (map[*history.Cell]html.PorcupinePage, error) {
	if fi, err := os.Stat(report); err == nil && !fi.Mode().IsRegular() {
		return nil, nil
	}
	pages := map[*history.Cell]html.PorcupinePage{}
	for i, name := range html.Names(rows) {
		c := rows[i].Shown().Cell
		w := firstViolation(c)
		switch {
		case w == nil:
		case w.noPicture != "":
			pages[c] = html.PorcupinePage{NoPicture: w.noPicture}
		default:
			file := path.Join(porcupineDir, name+".html")
			if err := writePage(filepath.Join(filepath.Dir(report), filepath.FromSlash(file)), w); err != nil {
				return pages, err
			}
			pages[c] = html.PorcupinePage{File: file}
		}
	}
	return pages, nil
}

func writePage(file string, w *window) error {
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return history.WriteFile(file, w.write)
}
