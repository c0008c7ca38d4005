//go:build ignore

// Dist packs both programs for machines without Go: one archive per system, in dist/. It needs Go and nothing else.
//
//	go run scripts/dist.go [SYSTEM...]        e.g. go run scripts/dist.go linux/amd64 windows/arm64
//
// The archive for this machine's own system is unpacked and tried, with an empty PATH.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

var (
	systems   = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	programs  = []string{"stockapi", "loadtest"}
	documents = []string{"README.md", "WORKSHOP.md", "LICENSE"}
)

const dist = "dist"

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

// pack makes the archive for one system, and prints its size.
func pack(system string) error {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("a system is GOOS/GOARCH, such as %s", systems[0])
	}
	name := "stockapi-" + goos + "-" + goarch
	dir, err := os.MkdirTemp("", "dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := build(filepath.Join(dir, name), goos, goarch)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	path, write := filepath.Join(dist, name+".tar.gz"), writeTar
	if goos == "windows" {
		path, write = filepath.Join(dist, name+".zip"), writeZip
	}
	if err := write(path, name, files); err != nil {
		return err
	}
	fmt.Printf("%-36s %5.1f MB, unpacked %5.1f MB\n", filepath.ToSlash(path), megabytes(path), megabytes(files...))
	if goos == runtime.GOOS && goarch == runtime.GOARCH {
		return try(path, name)
	}
	return nil
}

// build builds both programs, static and stripped, and returns the files of the archive.
func build(dir, goos, goarch string) (files []string, err error) {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-tags", "nomsgpack", "-ldflags", "-s -w",
		"-o", dir+string(filepath.Separator), "./cmd/stockapi", "./loadtest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	for _, program := range programs {
		if goos == "windows" {
			program += ".exe"
		}
		files = append(files, filepath.Join(dir, program))
	}
	return append(files, documents...), nil
}

func megabytes(paths ...string) (sum float64) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			sum += float64(info.Size()) / 1e6
		}
	}
	return sum
}

// writeTar writes files into a .tar.gz, in a folder of that name.
func writeTar(path, folder string, files []string) error {
	return create(path, func(out io.Writer) error {
		zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(zipped)
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			header := &tar.Header{Name: folder + "/" + filepath.Base(file), Mode: mode(file), Size: info.Size(),
				ModTime: info.ModTime()}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			if err := copyFrom(archive, file); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return zipped.Close()
	})
}

// writeZip is writeTar for a .zip, which Windows can unpack.
func writeZip(path, folder string, files []string) error {
	return create(path, func(out io.Writer) error {
		archive := zip.NewWriter(out)
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			header := &zip.FileHeader{Name: folder + "/" + filepath.Base(file), Method: zip.Deflate,
				Modified: info.ModTime()}
			header.SetMode(os.FileMode(mode(file)))
			entry, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			if err := copyFrom(entry, file); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// mode returns the permissions of a file in an archive.
func mode(file string) int64 {
	if slices.Contains(documents, file) {
		return 0o644
	}
	return 0o755
}

func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := write(file); err != nil {
		return err
	}
	return file.Close()
}

func copyFrom(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// try unpacks the archive and runs the programs with an empty PATH: loadtest has to find the stockapi beside it.
func try(path, folder string) error {
	dir, err := os.MkdirTemp("", "dist-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unpack(path, dir); err != nil {
		return err
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

// unpack unpacks one of our own archives.
func unpack(path, dir string) error {
	if strings.HasSuffix(path, ".zip") {
		archive, err := zip.OpenReader(path)
		if err != nil {
			return err
		}
		defer archive.Close()
		return os.CopyFS(dir, archive)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	archive := tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := create(target, func(w io.Writer) error { _, err := io.Copy(w, archive); return err }); err != nil {
			return err
		}
		if err := os.Chmod(target, os.FileMode(header.Mode)); err != nil {
			return err
		}
	}
}
