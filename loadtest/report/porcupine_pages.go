package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// porcupineDir is the directory of Porcupine's pages, beside the report.
const porcupineDir = "porcupine"

// writePorcupine writes Porcupine's page of each row whose shown cell is broken. It returns the pages of the cells, as
// paths from the report, and with an error those that were written before it. A report that goes to a device or a pipe
// gets no pages beside it.
func writePorcupine(rows []*catalog.Row, report string) (map[*history.Cell]string, error) {
	if fi, err := os.Stat(report); err == nil && !fi.Mode().IsRegular() {
		return nil, nil
	}
	pages := map[*history.Cell]string{}
	for i, name := range html.Names(rows) {
		c := rows[i].Shown().Cell
		info, illegal := checkFirstViolation(c)
		if !illegal {
			continue
		}
		page := path.Join(porcupineDir, name+".html")
		file := filepath.Join(filepath.Dir(report), filepath.FromSlash(page))
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return pages, fmt.Errorf("cannot write %s: %w", file, err)
		}
		if err := porcupine.VisualizePath(model, info, file); err != nil {
			return pages, fmt.Errorf("cannot write %s: %w", file, err)
		}
		pages[c] = page
	}
	return pages, nil
}
