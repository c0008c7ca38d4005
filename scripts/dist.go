//go:build ignore

// Dist packs both programs for machines without Go: one archive per system, in dist/. It needs Go and tar.
//
//	go run scripts/dist.go [SYSTEM...]        e.g. go run scripts/dist.go linux/amd64 windows/arm64
//
// An archive also has the documents, and LICENSES.txt with the licences of all linked modules. The archive for this
// system is unpacked and tried, with an empty PATH.
package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var (
	systems   = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	programs  = []string{"./cmd/stockapi", "./loadtest"}
	documents = []string{"README.md", "WORKSHOP.md", "WORKSHOP.zh.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md",
		"docs/*", rounds}
	// flags are build flags, on which the linked packages depend.
	flags = []string{"-tags", "nomsgpack"}
)

const (
	dist = "dist"
	// rounds are the stage's, for teachers to copy. In an archive they are at the top: loadtest is the program there.
	rounds = "loadtest/stage/rounds.*.yaml"
)

func main() {
	wanted := os.Args[1:]
	if len(wanted) == 0 {
		wanted = systems
	}
	for _, system := range wanted {
		if err := pack(system); err != nil {
			fmt.Fprintf(os.Stderr, "dist: %s: %v\n", system, err)
			os.Exit(1)
		}
	}
}

// pack writes the archive for one system, and prints its size.
func pack(system string) error {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("a system is GOOS/GOARCH, such as %s", systems[0])
	}
	dir, err := os.MkdirTemp("", "dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := "stockapi-" + goos + "-" + goarch
	if err := fill(filepath.Join(dir, name), goos, goarch); err != nil {
		return err
	}
	path, write := filepath.Join(dist, name+".tar.gz"), writeTar
	if goos == "windows" {
		path, write = filepath.Join(dist, name+".zip"), writeZip
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file, os.DirFS(dir)), file.Close()); err != nil {
		return err
	}
	fmt.Printf("%-36s %5.1f MB, unpacked %5.1f MB\n", filepath.ToSlash(path), megabytes(path), megabytes(dir))
	if goos == runtime.GOOS && goarch == runtime.GOARCH {
		return try(path, name)
	}
	return nil
}

// fill fills the folder to pack: both programs, static and stripped, the documents, and the licences.
func fill(dir, goos, goarch string) error {
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-buildvcs=auto", "-ldflags", "-s -w", "-o",
		dir + string(filepath.Separator)}, flags...)
	if _, err := run(goos, goarch, append(args, programs...)...); err != nil {
		return err
	}
	for _, pattern := range documents {
		paths, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(paths) == 0 {
			return fmt.Errorf("there is no %s (%w)", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if pattern == rounds {
				path = filepath.Base(path)
			}
			if err := os.WriteFile(filepath.Join(dir, path), text, 0o644); err != nil {
				return err
			}
		}
	}
	texts, err := licences(goos, goarch)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "LICENSES.txt"), []byte(texts), 0o644)
}

// run runs the go command for a system, and returns its output.
func run(goos, goarch string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

// licence matches the names of files that must accompany a copy of a module.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licences returns the licences of Go and of all linked modules, each text once, with its modules.
func licences(goos, goarch string) (string, error) {
	const (
		module = `{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}`
		format = `{{with .Module}}{{if not .Main}}` + module + `{{"\t"}}{{$.Dir}}{{end}}{{end}}`
	)
	args := append([]string{"list", "-deps", "-f", format}, flags...)
	out, err := run(goos, goarch, append(args, programs...)...)
	if err != nil {
		return "", err
	}
	of := map[string][]string{} // the modules, by text
	add := func(module, path string) error {
		text, err := os.ReadFile(path)
		if key := strings.TrimSpace(string(text)); err == nil && !slices.Contains(of[key], module) {
			of[key] = append(of[key], module)
		}
		return err
	}
	// If a distribution keeps Go's licence elsewhere, that of golang.org/x is the same.
	_ = add("Go "+strings.TrimPrefix(runtime.Version(), "go"), filepath.Join(runtime.GOROOT(), "LICENSE"))
	modules, licensed := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(out) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) != 3 {
			continue
		}
		module, root := parts[0], parts[1]
		modules[module] = true
		// A folder of a module may have a licence of its own.
		for dir := parts[2]; len(dir) >= len(root); dir = filepath.Dir(dir) {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return "", err
			}
			for _, e := range entries {
				if e.IsDir() || !licence.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				licensed[module] = true
				if err := add(module, filepath.Join(dir, e.Name())); err != nil {
					return "", err
				}
			}
		}
	}
	for module := range modules {
		if !licensed[module] {
			return "", fmt.Errorf("%s has no file with a licence", module)
		}
	}
	var all strings.Builder
	fmt.Fprintf(&all, "The two programs contain code of Go and of %d modules, under these licences.\n", len(modules))
	texts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Compare(of[a][0], of[b][0]) })
	for _, text := range texts {
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return all.String(), nil
}

// megabytes returns the size of a file, or of all files in a folder.
func megabytes(path string) (sum float64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += float64(info.Size()) / 1e6
		}
		return err
	})
	return sum
}

// writeTar writes a .tar.gz, whose files have no owner.
func writeTar(out io.Writer, from fs.FS) error {
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		file, err := from.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(archive, file)
		return err
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

// writeZip writes a .zip, which Windows can unpack.
func writeZip(out io.Writer, from fs.FS) error {
	archive := zip.NewWriter(out)
	return errors.Join(archive.AddFS(from), archive.Close())
}

// try unpacks the archive and runs the programs with an empty PATH: loadtest must find the stockapi beside it.
func try(path, folder string) error {
	dir, err := os.MkdirTemp("", "dist-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("tar", "-xf", path, "-C", dir).CombinedOutput(); err != nil { // also a .zip, on Windows
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	for _, command := range [][]string{
		{"stockapi", "--version"},
		{"loadtest", "--version"},
		{"loadtest", "--backend", "embedded", "--scenarios", "two-instances", "--rungs", "v4"},
	} {
		cmd := exec.Command(filepath.Join(dir, folder, command[0]), command[1:]...)
		cmd.Dir = filepath.Join(dir, folder)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), isPath), "PATH=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		fmt.Printf("  %s: %s\n", strings.Join(command, " "), lines[len(lines)-1])
	}
	return nil
}

func isPath(variable string) bool { return strings.HasPrefix(strings.ToUpper(variable), "PATH=") }
