//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// The default file is in a place where other users may write. If they have made its directory, or can write to it, v12
// keeps no lock there and reports a remedy; the other rungs are not affected.
func TestTheDefaultDirectoryIsOurs(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a link":         func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"a file":         func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"group-writable": func(dir string) error { return mkdir(dir, 0o770) },
		"world-writable": func(dir string) error { return mkdir(dir, 0o777) },
		"somebody else's": func(dir string) error {
			if os.Getuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			return firstError(mkdir(dir, 0o700), os.Chown(dir, 12345, 12345))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			dir := filepath.Join(tmp, fmt.Sprintf("stockapi-%d", os.Getuid()))
			require.NoError(t, prepare(dir))
			r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--sql", "")
			assert.Contains(t, r.logs.text(), "name another database with --sql", "at the start")
			logged := r.logs.len()
			a := r.post(t, "/v12/decrease")
			assert.Equal(t, "backend-away", a.problem())
			assert.Equal(t, "not-sold", a.body["outcome"])
			require.Greater(t, r.logs.len(), logged)
			assert.Contains(t, r.logs.lines[logged]["err"], dir+" is not this user's own directory")
			assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
			assert.Equal(t, 200, r.do(t, "DELETE", "/locks/10000", nil).status)
			_, err := os.Stat(filepath.Join(dir, "locks.db"))
			require.Error(t, err, "nothing was put there")
		})
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := filepath.Join(tmp, fmt.Sprintf("stockapi-%d", os.Getuid()))
	require.NoError(t, mkdir(dir, 0o755), "our own, and others may look")
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--sql", "")
	assert.Equal(t, 200, r.post(t, "/v12/decrease").status)
}

func mkdir(dir string, mode os.FileMode) error {
	return firstError(os.Mkdir(dir, mode), os.Chmod(dir, mode)) // whatever the umask
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
