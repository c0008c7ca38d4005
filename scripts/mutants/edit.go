package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An edit replaces the first occurrence of old in a file. The path is relative to the repository, or to redsync.
type edit struct{ file, old, new string }

// edits are the edits of one mutant. Several may concern one file.
type edits []edit

// redsync is the library whose files may be edited, too. -overlay does not replace files of the module cache, so a
// mutant of redsync is a copy.
const redsync = "github.com/go-redsync/redsync/v4"

// A tree has the directories of the files.
type tree struct{ root, redsync string }

func findTree(ctx context.Context) (t tree, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "stockapi", redsync).Output()
	if err != nil {
		return t, fmt.Errorf("go list, from a folder of this repository: %w", err)
	}
	t.root, t.redsync, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return t, nil
}

// path returns the path of a file, and whether it belongs to redsync.
func (t tree) path(file string) (path string, library bool) {
	if name, library := strings.CutPrefix(file, redsync+"/"); library {
		return filepath.Join(t.redsync, name), true
	}
	return filepath.Join(t.root, file), false
}

// texts returns the edited files. It returns an error if an old text does not occur.
func (e edits) texts(t tree) (map[string]string, error) {
	changed := map[string]string{}
	for _, one := range e {
		text, is := changed[one.file]
		if !is {
			path, _ := t.path(one.file)
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if !strings.Contains(text, one.old) {
			return nil, fmt.Errorf("%s has no %q any more", one.file, one.old)
		}
		changed[one.file] = strings.Replace(text, one.old, one.new, 1)
	}
	return changed, nil
}

// write writes the edited files into a folder, and returns the flags of the go command to use them.
func (e edits) write(t tree, dir string) (flags []string, err error) {
	changed, err := e.texts(t)
	if err != nil {
		return nil, err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range changed {
		path, library := t.path(file)
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if library {
			if flags, err = copyLibrary(t, dir); err != nil {
				return nil, err
			}
			copied = filepath.Join(dir, "redsync", strings.TrimPrefix(file, redsync))
			path = copied
		}
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return nil, err
		}
		overlay.Replace[path] = copied
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "overlay.json")
	return append(flags, "-overlay", path), os.WriteFile(path, data, 0o644)
}

// copyLibrary copies redsync into the folder, and returns the flag of the go command to use the copy.
func copyLibrary(t tree, dir string) (flags []string, err error) {
	library, mod := filepath.Join(dir, "redsync"), filepath.Join(dir, "go.mod")
	if _, err := os.Stat(library); err == nil {
		return []string{"-modfile", mod}, nil
	}
	if err := os.CopyFS(library, os.DirFS(t.redsync)); err != nil {
		return nil, err
	}
	for name, more := range map[string]string{"go.mod": "\nreplace " + redsync + " => " + library + "\n", "go.sum": ""} {
		text, err := os.ReadFile(filepath.Join(t.root, name))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(text, more...), 0o644); err != nil {
			return nil, err
		}
	}
	return []string{"-modfile", mod}, nil
}
