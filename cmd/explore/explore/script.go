package explore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	lua "github.com/yuin/gopher-lua"
)

// A scripts runs the scripts of one server. Miniredis opens a new Lua state with all its libraries for each script,
// which takes longer than the rest of a step. Here one state, of the same interpreter, runs them all. The conversions
// between Redis and Lua are those of miniredis; a test compares the two.
type scripts struct {
	server *server.Server
	state  *lua.LState
	known  map[string]*lua.LFunction // by digest

	caller *server.Peer // on whose behalf a script calls commands
	sent   bytes.Buffer // what the server has sent to it
	reply  *bufio.Reader
}

func newScripts(s *server.Server) *scripts {
	run := &scripts{server: s, state: lua.NewState(), known: map[string]*lua.LFunction{}}
	run.caller, run.reply = server.NewPeer(bufio.NewWriter(&run.sent)), bufio.NewReader(nil)
	run.state.SetGlobal("redis", run.state.SetFuncs(run.state.NewTable(), map[string]lua.LGFunction{
		"call": run.call, "pcall": run.protectedCall, "error_reply": errorReply}))
	if err := run.state.DoString(noGlobals); err != nil {
		panic(err) // a bug of ours
	}
	return run
}

// noGlobals rejects global variables, as Redis does, so that a script leaves nothing behind for the next one.
const noGlobals = `setmetatable(_G, {
  __newindex = function(_, name) error("Script attempted to create global variable '" .. name .. "'", 2) end,
  __index = function(_, name) error("Script attempted to access nonexistent global variable '" .. name .. "'", 2) end,
})`

// carryOut carries out EVAL and EVALSHA, as a hook of the server. It returns false for all other commands, and for an
// unknown script: those are for miniredis.
func (run *scripts) carryOut(c *server.Peer, cmd string, args ...string) bool {
	if cmd != "EVAL" && cmd != "EVALSHA" || len(args) < 2 {
		return false
	}
	digest := args[0]
	if cmd == "EVAL" {
		digest = redis.NewScript(args[0]).Hash()
		run.learn(digest, args[0])
	}
	script := run.known[digest]
	keys, err := strconv.Atoi(args[1])
	if script == nil || err != nil || keys < 0 || keys > len(args)-2 {
		return false
	}
	run.set("KEYS", args[2:2+keys])
	run.set("ARGV", args[2+keys:])
	run.state.Push(script)
	if err := run.state.PCall(0, 1, nil); err != nil {
		c.WriteError(fmt.Sprintf("ERR Error compiling script (new function): %s", err))
	} else {
		writeReply(c, run.state.Get(-1))
	}
	run.state.SetTop(0)
	return true
}

// learn keeps a script that was sent in full.
func (run *scripts) learn(digest, source string) {
	if run.known[digest] != nil {
		return
	}
	if script, err := run.state.Load(strings.NewReader(source), ""); err == nil {
		run.known[digest] = script
	}
}

func (run *scripts) knows(digest string) bool { return run.known[digest] != nil }

func (run *scripts) set(name string, values []string) {
	list := run.state.CreateTable(len(values), 0)
	for _, v := range values {
		list.Append(lua.LString(v))
	}
	run.state.G.Global.RawSetString(name, list)
}

// call is redis.call: an error ends the script.
func (run *scripts) call(l *lua.LState) int {
	reply, err := run.send(l)
	if err != nil {
		l.RaiseError("%s", err)
	}
	l.Push(toLua(l, reply))
	return 1
}

// protectedCall is redis.pcall: an error is returned as a table.
func (run *scripts) protectedCall(l *lua.LState) int {
	reply, err := run.send(l)
	if err != nil {
		l.Push(status(l, "err", err.Error()))
		return 1
	}
	l.Push(toLua(l, reply))
	return 1
}

// send carries out a command that a script calls.
func (run *scripts) send(l *lua.LState) (any, error) {
	args := make([]string, l.GetTop())
	for i := range args {
		args[i] = l.CheckString(i + 1)
	}
	if len(args) == 0 {
		return nil, errors.New("a script called no command")
	}
	run.sent.Reset()
	run.server.Dispatch(run.caller, args)
	run.caller.Flush()
	run.reply.Reset(&run.sent)
	return server.ParseReply(run.reply)
}

// errorReply is redis.error_reply.
func errorReply(l *lua.LState) int {
	l.Push(status(l, "err", l.CheckString(1)))
	return 1
}

func status(l *lua.LState, field, text string) *lua.LTable {
	table := l.NewTable()
	table.RawSetString(field, lua.LString(text))
	return table
}

// toLua converts a reply for a script.
func toLua(l *lua.LState, reply any) lua.LValue {
	switch r := reply.(type) {
	case int:
		return lua.LNumber(r)
	case string:
		return lua.LString(r)
	case server.Simple:
		return status(l, "ok", string(r))
	case []any:
		list := l.CreateTable(len(r), 0)
		for _, one := range r {
			list.Append(toLua(l, one))
		}
		return list
	}
	return lua.LFalse // there is no such value
}

// writeReply sends what a script has returned.
func writeReply(c *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LNumber:
		c.WriteInt(int(v))
	case lua.LString:
		c.WriteBulk(string(v))
	case *lua.LTable:
		writeTable(c, v)
	default:
		if value == lua.LTrue {
			c.WriteInt(1)
			return
		}
		c.WriteNull()
	}
}

func writeTable(c *server.Peer, table *lua.LTable) {
	if text, ok := table.RawGetString("err").(lua.LString); ok {
		c.WriteError(string(text))
		return
	}
	if text, ok := table.RawGetString("ok").(lua.LString); ok {
		c.WriteInline(string(text))
		return
	}
	n := 0
	for table.RawGetInt(n+1) != lua.LNil { // a list ends at its first nil
		n++
	}
	c.WriteLen(n)
	for i := range n {
		writeReply(c, table.RawGetInt(i+1))
	}
}
