package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// workshopPart is the text under one heading of a document.
type workshopPart struct {
	title  string
	blocks []*workshopBlock
}

// workshopBlock is a block of commands, and what the text promises of their output. A block begins with
//
//	```sh               a script that ends with exit code 0
//	```sh exit=52       a script that ends with that exit code
//	```sh terminal=1    a command that runs in a terminal of that number until the part ends; the next block begins
//	                    when it has printed its promises
//	```sh needs=NAME    a script that needs a program which may be missing
//	```sh elsewhere     commands that take too long, and that something else runs: see runElsewhere
//
// and each line of the ```text block that follows must be in its output: see broken. The lines of a block ```text
// terminal=1 must be in the output of that terminal soon after the commands have ended; those of ```text of=4 in the
// output of the first script of the part above whose title begins with 4, or with Extra 4. A block whose last word is
// sample, as in ```json sample, promises nothing.
//
// A line with "Start both terminals" stands for the blocks of both terminals.
type workshopBlock struct {
	line     int
	other    bool // is run elsewhere
	exit     int
	terminal int
	needs    string
	script   string
	promises []string
	said     map[int][]string // promises by terminal
}

// partsOf reads a document. A fenced block has commands, a promise or a sample: any other is an error.
func partsOf(document string) ([]*workshopPart, error) {
	var r partsReader
	for number, line := range strings.Split(document, "\n") {
		if err := r.read(number+1, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if r.within != nil {
		return nil, errors.New("the last block does not end")
	}
	return r.parts, r.startTerminals()
}

// partsReader reads a document, part by part.
type partsReader struct {
	parts     []*workshopPart
	block     *workshopBlock    // the last block of commands in this part
	within    func(line string) // takes the lines of the block that we are in
	terminals []*workshopBlock
	starts    []*workshopPart // those that start both terminals
}

func (r *partsReader) read(number int, line string) error {
	info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
	switch {
	case fence && r.within == nil:
		return r.begin(number, info)
	case fence && info != "":
		return errors.New("a block begins within a block")
	case fence:
		r.within = nil
	case r.within != nil:
		r.within(line)
	case strings.HasPrefix(line, "## "):
		r.parts, r.block = append(r.parts, &workshopPart{title: strings.TrimPrefix(line, "## ")}), nil
	case strings.Contains(line, "Start both terminals"):
		r.starts = append(r.starts, r.parts[len(r.parts)-1])
	}
	return nil
}

// startTerminals puts the blocks of the terminals, which may come later in the document, at the start of each part that
// starts them.
func (r *partsReader) startTerminals() error {
	if len(r.starts) > 0 && len(r.terminals) == 0 {
		return errors.New("there are no terminals to start")
	}
	for _, p := range r.starts {
		p.blocks = slices.Concat(r.terminals, p.blocks)
	}
	return nil
}

func (r *partsReader) begin(number int, info string) (err error) {
	switch {
	case strings.HasSuffix(info, " sample"):
		r.within = func(string) {}
	case len(r.parts) == 0:
		return errors.New("a block under no heading")
	case !strings.HasPrefix(info, "text"):
		r.block, err = newBlock(number, info)
		last := r.parts[len(r.parts)-1]
		last.blocks = append(last.blocks, r.block)
		if r.block.terminal > 0 {
			r.terminals = append(r.terminals, r.block)
		}
		r.within = func(line string) { r.block.script += line + "\n" }
	case strings.HasPrefix(info, "text of="):
		return r.beginPromise(r.firstScriptOf(strings.TrimPrefix(info, "text of=")))
	case info != "text" && r.block != nil:
		return r.beginSaid(info)
	default:
		return r.beginPromise(r.block)
	}
	return err
}

func (r *partsReader) beginPromise(of *workshopBlock) error {
	if of == nil {
		return errors.New("a promise of no command")
	}
	r.within = func(line string) { of.promises = append(of.promises, line) }
	return nil
}

// firstScriptOf returns the first script of an exercise or of an extra, nil if there is none.
func (r *partsReader) firstScriptOf(name string) *workshopBlock {
	for _, p := range r.parts {
		if strings.HasPrefix(strings.TrimPrefix(p.title, "Extra "), name+". ") && len(p.blocks) > 0 {
			return p.blocks[0]
		}
	}
	return nil
}

// beginSaid begins a promise of the output of a terminal.
func (r *partsReader) beginSaid(info string) error {
	number, err := strconv.Atoi(strings.TrimPrefix(info, "text terminal="))
	if err != nil {
		return fmt.Errorf("a promise in %q: %w", info, err)
	}
	if r.block.said == nil {
		r.block.said = map[int][]string{}
	}
	r.within = func(line string) { r.block.said[number] = append(r.block.said[number], line) }
	return nil
}

// newBlock parses the words after the fence.
func newBlock(number int, info string) (*workshopBlock, error) {
	b := &workshopBlock{line: number}
	words := strings.Fields(info)
	if len(words) == 0 || words[0] != "sh" {
		return b, fmt.Errorf("a block of %q, which nothing runs", info)
	}
	for _, word := range words[1:] {
		var err error
		switch key, value, _ := strings.Cut(word, "="); key {
		case "exit":
			b.exit, err = strconv.Atoi(value)
		case "terminal":
			b.terminal, err = strconv.Atoi(value)
		case "needs":
			b.needs = value
		case "elsewhere":
			b.other = true
		default:
			err = fmt.Errorf("there is no %q", key)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

var (
	aTime    = regexp.MustCompile(`\d+(\\\.\d+)?( ?m?s\b)`)
	aClock   = regexp.MustCompile(`\d\d:\d\d:\d\d\\\.\d{3}`)
	anything = regexp.MustCompile(` *… *`)
	first    = regexp.MustCompile(`^\w`)
	last     = regexp.MustCompile(`\w$`)
	twoSales = regexp.MustCompile(`^(.+?) sold unit (\d+) to (order \w+ at \S+ s); (.+) sold unit \d+ again to (.+)$`)
)

// broken returns the promises that an output does not keep. Runs of white space count as one space, since stories are
// wrapped and tables are padded. In a promise, a duration and a time of day match any other, and … matches any text.
// Two sales of one unit may come in either order. The mark of longer leases is removed from the output's matrix.
func broken(promises []string, output string) (missing []string) {
	output = strings.Join(strings.Fields(longerLease.ReplaceAllString(output, "$1$2")), " ")
	for _, p := range promises {
		told := strings.Join(strings.Fields(p), " ")
		turned := twoSales.ReplaceAllString(told, "$4 sold unit $2 to $5; $1 sold unit $2 again to $3")
		if !promised(told).MatchString(output) && !promised(turned).MatchString(output) {
			missing = append(missing, p)
		}
	}
	return missing
}

// promised returns the pattern of a promise.
func promised(promise string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(promise)
	pattern = aClock.ReplaceAllString(pattern, `\d\d:\d\d:\d\d\.\d{3}`)
	pattern = aTime.ReplaceAllString(pattern, `\d+(\.\d+)?$2`)
	pattern = anything.ReplaceAllString(pattern, `.{0,300}?`)
	pattern = last.ReplaceAllString(first.ReplaceAllString(pattern, `\b$0`), `$0\b`) // SE is not in SER
	return regexp.MustCompile(pattern)
}

func TestPromises(t *testing.T) {
	const output = "  v4  b sold unit 98 to order 2 at +0.514 s; a, working 1.250 s under a lease of 0.500 s, " +
		"sold unit 98\n      again to order 1 at +1.259 s\n  v1  did not get through in 2s, b answered: 423\n" +
		"late-release  SER~\nas expected (1 of 1 cells)\n12:38:56.822 anna       v4     +2000 ms ! sold unit 89\n"
	assert.Empty(t, broken([]string{
		"v4 … sold unit 98 to order 2 at +0.6 s; a, working 1.250 s under a lease of 0.500 s, " +
			"sold unit 98 again to order 1 at +1.3 s",
		"a, working 1.250 s under a lease of 0.500 s, sold unit 98 to order 1 at +1.3 s; " +
			"b sold unit 98 again to order 2 at +1.4 s",
		"did not get through in 1.507s,… answered: 423",
		"late-release SER",
		"as expected (1 of 1 cells)",
		"01:02:03.004 anna v4 +1999 ms ! sold unit 89",
		"",
	}, output))
	for _, kept := range []string{"sold unit 97 to", "b sold unit 98 to order 2 at s",
		"a sold unit 98 to order 1 at +1 s; b sold unit 98 again to order 2 at +1 s", "as expected (1 of 2 cells)", "v5.",
		"v… z",
		"late-release SE", "ate-release SER"} {
		assert.Equal(t, []string{kept}, broken([]string{kept}, output))
	}
}

func TestPartsOf(t *testing.T) {
	parts, err := partsOf("# T\n## A\n```sh exit=1\na b\n\nc\n```\n<details>\n\n```text\nx\ny\n```\n## B\n```sh " +
		"needs=d terminal=2\ne\n```\n```text terminal=1\nz\n```\n")
	require.NoError(t, err)
	require.Len(t, parts, 2)
	assert.Equal(t, []*workshopBlock{{line: 3, exit: 1, script: "a b\n\nc\n", promises: []string{"x", "y"}}},
		parts[0].blocks)
	assert.Equal(t, []*workshopBlock{{line: 15, terminal: 2, needs: "d", script: "e\n",
		said: map[int][]string{1: {"z"}}}}, parts[1].blocks)
	parts, err = partsOf("## 1. A\nStart both terminals.\n```sh\nc\n```\n## B\n```sh terminal=1\na\n```\n" +
		"```sh terminal=2\nb\n```\n```text\nx\n```\n## C\n```text of=1\ny\n```\n")
	require.NoError(t, err)
	assert.Equal(t, []*workshopBlock{
		{line: 7, terminal: 1, script: "a\n"},
		{line: 10, terminal: 2, script: "b\n", promises: []string{"x"}},
		{line: 3, script: "c\n", promises: []string{"y"}},
	}, parts[0].blocks)
	for _, document := range []string{
		"## A\n```\nnot run\n```\n", "## A\n```bash\nnot run\n```\n", "## A\n```text\nx\n```\n", "## A\n```sh\na\n",
		"## A\n```sh\na\n```\n```text terminal=one\nx\n```\n",
		"## A\n```sh exit=often\na\n```\n", "## A\n```sh quietly\na\n```\n", "## A\n```sh\na\n```sh\n",
		"## A\n```sh\na\n```\n## B\n```text\nx\n```\n",
		"```sh\nbefore any heading\n```\n", "## A\nStart both terminals.\n", "## A\n```text of=1\nx\n```\n",
	} {
		_, err := partsOf(document)
		assert.Error(t, err, document)
	}
}
