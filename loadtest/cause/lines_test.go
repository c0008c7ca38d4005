package cause

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// literals returns the lines of each remedy, as lines.go has them.
func literals(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "lines.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && strings.HasPrefix(lit.Value, "`") {
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			all = append(all, text)
		}
		return true
	})
	return all
}

func TestRemediesHaveCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	require.NoError(t, err)
	causes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		lit, is := n.(*ast.CompositeLit)
		if !is || len(lit.Elts) != 3 { // a defect
			return true
		}
		causes++
		isEmpty := func(e ast.Expr) bool {
			text, is := e.(*ast.BasicLit)
			return is && text.Value == `""`
		}
		assert.Equal(t, isEmpty(lit.Elts[1]), isEmpty(lit.Elts[2]), lit.Elts[0])
		return false
	})
	assert.Greater(t, causes, 30)
	assert.Equal(t, strings.Split(releaseLines, "\n"), removedBlindly.defect("").Lines)
}

func TestRemediesOfTheDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/try.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(document), "\n## Remedies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)```\\w+ sample\n(.*?)\n```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, strings.Split(block[1], "\n\n")...)
	}
	assert.ElementsMatch(t, literals(t), blocks)
}

func TestRemedyCodeWorks(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	eval := func(script string, keys []string, args ...any) any {
		reply, err := client.Eval(t.Context(), script, keys, args...).Result()
		if err != nil {
			return strings.TrimPrefix(err.Error(), "ERR ")
		}
		return reply
	}
	lock := []string{"lock"}
	for _, test := range []struct {
		name  string
		steps func()
	}{
		{"compare and delete", func() {
			server.Set("lock", "bert")
			assert.EqualValues(t, 0, eval(releaseLines, lock, "anna"))
			assert.True(t, server.Exists("lock"))
			assert.EqualValues(t, 1, eval(releaseLines, lock, "bert"))
			assert.False(t, server.Exists("lock"))
			server.Set("lock", "bert")
			command := strings.TrimSuffix(regexp.MustCompile(`DELEX [^.]+`).FindString(releaseLines), "token")
			for _, token := range []string{"anna", "bert"} {
				args := strings.Fields(command + token)
				reply := client.Do(t.Context(), args[0], args[1], args[2], args[3]).Val()
				assert.Equal(t, token == "bert", reply == int64(1))
			}
		}},
		{"renew", func() {
			assert.EqualValues(t, 0, eval(renewLines, lock, "anna", 1000))
			assert.False(t, server.Exists("lock"), "a renewal recreates no lock")
			server.Set("lock", "bert")
			assert.EqualValues(t, 0, eval(renewLines, lock, "anna", 1000))
			assert.Zero(t, server.TTL("lock"))
			assert.EqualValues(t, 1, eval(renewLines, lock, "bert", 1000))
			assert.Equal(t, time.Second, server.TTL("lock"))
		}},
		{"fence", func() {
			draw, stock := []string{"lock", "last"}, []string{"stock", "newest"}
			server.Set("stock", "100")
			assert.EqualValues(t, 1, eval(drawLines, draw, "anna", 1000))
			assert.EqualValues(t, 0, eval(drawLines, draw, "bert", 1000))
			assert.EqualValues(t, "100", eval(fenceLines, stock, 1))
			server.FastForward(time.Second)
			assert.EqualValues(t, 2, eval(drawLines, draw, "bert", 1000))
			assert.EqualValues(t, "100", eval(fenceLines, stock, 2))
			assert.Equal(t, "STALE", eval(fenceLines, stock, 1, 99), "a newer token has read")
			assert.EqualValues(t, "99", eval(fenceLines, stock, 2, 99))
			assert.EqualValues(t, "98", eval(fenceLines, stock, 10, 98), "tokens compare as numbers")
		}},
		{"take", func() {
			server.Set("stock", "1")
			assert.EqualValues(t, 1, eval(takeLines, []string{"stock"}))
			assert.EqualValues(t, 0, eval(takeLines, []string{"stock"}))
		}},
		{"take once", func() {
			server.Set("stock", "1")
			assert.EqualValues(t, 1, eval(onceLines, []string{"stock", "order:1"}))
			assert.EqualValues(t, 1, eval(onceLines, []string{"stock", "order:1"}))
			assert.EqualValues(t, 0, eval(onceLines, []string{"stock", "order:2"}))
			stock, _ := server.Get("stock")
			assert.Equal(t, "0", stock)
		}},
		{"queue", func() {
			queue, now := []string{"queue", "deadlines"}, time.Unix(1_000_000, 0)
			server.SetTime(now)
			assert.EqualValues(t, 1, eval(queueLines, queue, "anna"))
			server.SetTime(now.Add(2 * time.Second))
			assert.EqualValues(t, 0, eval(queueLines, queue, "bert"))
			server.SetTime(now.Add(4 * time.Second))
			assert.EqualValues(t, 1, eval(queueLines, queue, "bert"), "Anna has died")
		}},
	} {
		server.FlushAll()
		t.Log(test.name)
		test.steps()
	}
}
