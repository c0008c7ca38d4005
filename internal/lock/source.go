package lock

import (
	"embed"
	"path"
	"reflect"
	goruntime "runtime"
	"strings"
)

//go:embed v*[^t].go v*[^s]t.go
var sources embed.FS // the files of the rungs, and no _test.go

// Source returns the Go code of the rung's file without its comments, as scripts/rung-diff shows it.
func (r Rung) Source() string {
	for _, part := range []any{r.acquireAll, r.all, r.build} { // v9 and v9-naive share the build
		made := goruntime.FuncForPC(reflect.ValueOf(part).Pointer())
		if made == nil {
			continue
		}
		file, _ := made.FileLine(made.Entry())
		if text, err := sources.ReadFile(path.Base(file)); err == nil {
			return withoutComments(string(text))
		}
	}
	return ""
}

func withoutComments(text string) string {
	var code strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			code.WriteString(line)
		}
	}
	return code.String()
}
