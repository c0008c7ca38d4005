package terminaltest

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Open opens a pseudo-terminal of that size. What is written to tty appears on the screen. When closed is called, all
// of it has, and tty is no more.
func Open(t *testing.T, columns, rows int) (tty *os.File, screen *Screen, closed func()) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}))
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	screen = New(columns, rows)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(screen, master) // it ends with an error when the other side is closed
	}()
	return tty, screen, func() {
		require.NoError(t, tty.Close())
		<-done
		require.NoError(t, master.Close())
	}
}
