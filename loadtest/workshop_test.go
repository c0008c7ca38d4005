//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readDocument(t *testing.T, path string) (document string, parts []*workshopPart) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	parts, err = partsOf(string(data))
	require.NoError(t, err, path)
	return string(data), parts
}

// doParts does what the parts of a document say, side by side: see desks.
func doParts(t *testing.T, parts []*workshopPart) {
	t.Helper()
	need(t, "bash")
	var all sync.WaitGroup
	for _, p := range parts {
		if len(p.blocks) > 0 {
			all.Go(func() { t.Run(p.title, p.test) })
		}
	}
	all.Wait()
}

func (p *workshopPart) test(t *testing.T) {
	d := newDesk(t)
	defer d.leave(t)
	for _, b := range p.blocks {
		if b.other {
			continue
		}
		skipped := false
		if !t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			for _, program := range b.programs() {
				need(t, program)
			}
			require.NoError(t, d.do(t.Context(), b))
		}) || skipped {
			return // the next one counts on this one
		}
	}
}

// programs are those that a block needs and that not every machine has.
func (b *workshopBlock) programs() (names []string) {
	if b.needs != "" {
		names = append(names, b.needs)
	}
	for _, name := range []string{"curl", "gunzip", "make", "python3"} {
		if strings.Contains(b.script, name+" ") {
			names = append(names, name)
		}
	}
	return names
}

// TestADeskObjects forges blocks that do not hold what they promise.
func TestADeskObjects(t *testing.T) {
	need(t, "bash")
	d := newDesk(t)
	defer d.leave(t)
	assert.NotEqual(t, "port 5000", d.here("port 5000"))
	for _, c := range []struct{ document, says string }{
		{"```sh\necho port 5000\n```\n```text\nport 5000\n```", ""},
		{"```sh\nsleep 0.1 && echo late &\n```\n```text\nlate\n```", ""},
		{"```sh\necho port 5000\n```\n```text\nport 5010\n```", "promised, but not said"},
		{"```sh\nfalse\ntrue\n```", "exit status 1, not exit code 0"},
		{"```sh exit=3\ntrue\n```", "exit status 0, not exit code 3"},
		{"```sh\ngo run ./loadtest --bogus\n```", "unknown flag --bogus"},
		{"```sh terminal=1\necho ready; sleep 60\n```\n```text\nready\n```", ""},
		{"```sh\ntrue\n```\n```text terminal=1\nready\n```", ""},
		{"```sh\ntrue\n```\n```text terminal=2\nready\n```", "nothing runs in terminal 2"},
		{"```sh terminal=1\necho not yet\n```\n```text\nready\n```", "it has ended: promised, but not said"},
	} {
		parts, err := partsOf("## A\n" + c.document)
		require.NoError(t, err)
		err = d.do(t.Context(), parts[0].blocks[0])
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
