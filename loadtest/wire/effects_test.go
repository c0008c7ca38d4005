package wire

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// commands is a server's table of some commands.
var commands = func() table {
	t := table{}
	for names, flags := range map[string][]string{
		"set setnx decr decrby incr getset getdel expire pexpire persist hset hincrby hdel zadd zrem zremrangebyscore " +
			"del unlink delex delifeq getex rename copy msetnx hmset hsetnx hexpire hpersist hgetex hsetex hgetdel rpush " +
			"lpop": {"write"},
		"get ttl pttl exists hexists zcard watch echo touch dump hget hmget hgetall hscan lindex": {"readonly"},
		"eval evalsha": {"movablekeys"},
		"blpop":        {"write", "blocking"},
	} {
		for name := range strings.FieldsSeq(names) {
			t[name] = &redis.CommandInfo{Name: name, Flags: flags, FirstKeyPos: 1, LastKeyPos: 1, StepCount: 1}
		}
	}
	for _, several := range []string{"del", "unlink", "exists", "watch", "rename", "copy"} {
		t[several].LastKeyPos = -1
	}
	t["echo"].FirstKeyPos, t["echo"].LastKeyPos = 0, 0
	return t
}()

// began is the time of the look before a command. The command arrives a second later.
var began = time.Unix(1_700_000_000, 0)

// none is an absent key. held is a lock of these owners that expires after ends; 0: never.
var none = KeyState{Kind: "none"}

func held(kind string, ends time.Duration, owners ...string) KeyState {
	k := KeyState{Kind: kind, Parts: map[string]string{}}
	for _, owner := range owners {
		if kind == "string" {
			k.Parts[""] = owner
		} else {
			k.Parts[owner] = "1"
		}
	}
	if ends > 0 {
		k.Ends = began.Add(ends)
	}
	return k
}

func str(owner string, ends time.Duration) KeyState { return held("string", ends, owner) }

// list returns a list of these elements, without a TTL.
func list(values ...string) KeyState {
	k := KeyState{Kind: "list", Parts: map[string]string{}}
	for i, value := range values {
		k.Parts[strconv.Itoa(i)] = value
	}
	return k
}

// counts returns the key with another value for each of its owners.
func counts(k KeyState, count string) KeyState {
	for owner := range k.Parts {
		k.Parts[owner] = count
	}
	return k
}

func TestEffectsOnALock(t *testing.T) {
	const long, token = 10 * time.Second, "\x00\xfft \"\n"
	mine, theirs := str(token, long), str("theirs", long)
	for _, one := range []struct {
		what          string
		before, after KeyState
		does          string // the command, or those of a script; t stands for the token
		reply         string
		want          history.Effect
	}{
		{"acquires", none, mine, "SET lock t NX PX 10000", "OK", history.EffectAcquired},
		{"INCR to one", none, str("1", 0), "incr lock", "1", history.EffectAcquired | history.Endless},
		{"INCR to one after the lock has just expired", str("7", long), str("1", 0), "incr lock", "1",
			history.EffectAcquired | history.Endless},
		{"INCR of a held lock", str("1", long), str("2", long), "incr lock", "2", history.EffectTried},
		{"DECR to one", str("2", long), str("1", long), "decr lock", "1", history.EffectReleased},
		{"acquires by NX GET, whose reply is nil", none, mine, "set lock t nx px 10000 get", "(nil)",
			history.EffectAcquired},
		{"finds it held by NX GET", theirs, theirs, "set lock t nx px 10000 get", `"theirs"`, history.EffectTried},
		{"finds it free by XX GET", none, none, "set lock t xx get", "(nil)", history.EffectNothing},
		{"acquires by GETSET", none, str(token, 0), "getset lock t", "(nil)",
			history.EffectAcquired | history.Endless},
		{"acquires by NX GET though a TTL of 1 ms seemed left", str(token, 1001*time.Millisecond), mine,
			"set lock t nx px 10000 get", "(nil)", history.EffectAcquired},
		{"acquires without a TTL", none, str(token, 0), "setnx lock t", "1", history.EffectAcquired | history.Endless},
		{"acquires by a script that returns nil", none, mine, "eval; exists lock; set lock t; pexpire lock 10000", "(nil)",
			history.EffectAcquired},
		{"finds it held", theirs, theirs, "set lock t nx px 10000", "(nil)", history.EffectTried},
		{"finds it held by SETNX", theirs, theirs, "setnx lock t", "0", history.EffectTried},
		{"a script finds it held", theirs, theirs, "eval; exists lock; pttl lock", "9000", history.EffectTried},
		{"a script finds it held by SET", theirs, theirs, "eval; set lock t nx", "0", history.EffectTried},
		{"finds it held, and then it expires", str("theirs", 1001*time.Millisecond), none, "set lock t nx px 10000", "(nil)",
			history.EffectTried},
		{"a script finds it held, and then it expires", str("theirs", 1001*time.Millisecond), none, "eval; set lock t nx",
			"0", history.EffectTried},
		{"a script finds it free", none, none, "eval; get lock", "0", history.EffectNothing},
		{"a GET", theirs, theirs, "get lock", `"theirs"`, history.EffectTried},
		{"is overwritten", theirs, mine, "set lock t px 10000", "OK", history.EffectAcquired},
		{"is overwritten by SET XX", theirs, mine, "set lock t xx px 10000", "OK", history.EffectAcquired},
		{"GETSET takes over", str("old", 0), str(token, 0), "getset lock t", `"old"`,
			history.EffectAcquired | history.Endless},

		{"expired before, and is acquired", str("theirs", time.Second/2), mine, "set lock t nx px 10000", "OK",
			history.EffectAcquired},
		{"expired before, and a script recreates it", str(token, time.Second/2), mine,
			"evalsha; get lock; set lock t px 10000", "1", history.EffectAcquired},
		{"expired before a script's GET", str(token, time.Second/2), none, "eval; get lock", "0",
			history.EffectNothing},
		{"expired before the DEL", str(token, time.Second/2), none, "del lock", "0", history.EffectNothing},
		{"expired before the DEL, a ms early", str(token, 1001*time.Millisecond), none, "del lock", "0",
			history.EffectTried},
		{"expired before the DEL of a script", str(token, time.Second/2), none, "eval; del lock", "0",
			history.EffectNothing},
		{"expired after a script's GET", str("theirs", 1001*time.Millisecond), none, "eval; get lock", "0",
			history.EffectTried},
		{"expired after the GET", str("theirs", 1001*time.Millisecond), none, "get lock", `"theirs"`,
			history.EffectTried},
		{"acquires though a TTL of 1 ms seemed left", str("theirs", 1001*time.Millisecond), mine,
			"eval; set lock t nx px 10000", "1", history.EffectAcquired},
		{"acquires with the same value though a TTL of 1 ms seemed left", str(token, 1001*time.Millisecond), mine,
			"set lock t nx px 10000", "OK", history.EffectAcquired},
		{"acquires without a TTL though a TTL of 1 ms seemed left", str(token, 1001*time.Millisecond), str(token, 0),
			"setnx lock t", "1", history.EffectAcquired | history.Endless},

		{"renews", mine, str(token, 2*long), "pexpire lock 20000", "1", history.EffectRenewed},
		{"renews by SET XX", mine, str(token, 2*long), "set lock t xx px 20000", "OK", history.EffectRenewed},
		{"writes the same value with the same expiry", mine, mine, "eval; get lock; set lock t px 10000", "1",
			history.EffectRenewed},
		{"renews by SET IFEQ", mine, mine, "set lock t ifeq t px 10000", "OK", history.EffectRenewed},
		{"renews by SET IFEQ GET", mine, mine, "set lock t ifeq t get px 10000", "(token)", history.EffectRenewed},
		{"renews by SET IFDEQ", str("1", long), str("1", long), "set lock 1 ifdeq " + digestOf("1") + " get", `"1"`,
			history.EffectRenewed},
		{"renews by SET IFEQ in a transaction", mine, mine, "exec; set lock t ifeq t px 10000; incr beats", "[OK 1]",
			history.EffectRenewed},
		{"renews by SET IFEQ in a script that reads it again", mine, mine, "eval; set lock t ifeq t px 10000; get lock", "1",
			history.EffectRenewed},
		{"SET IFEQ of another's", theirs, theirs, "set lock t ifeq t px 10000", "(nil)", history.EffectTried},
		{"SET IFEQ GET of another's", theirs, theirs, "set lock t ifeq t get px 10000", `"theirs"`, history.EffectTried},
		{"SET IFDEQ GET of another's", theirs, theirs, "set lock 1 ifdeq " + digestOf("1") + " get", `"theirs"`,
			history.EffectTried},
		{"SET IFEQ of another's in a transaction", theirs, theirs, "exec; set lock t ifeq t px 10000; incr beats",
			"[(nil) 1]", history.EffectTried},
		{"SET IFEQ of another's in a script", theirs, theirs, "eval; set lock t ifeq t px 10000", "0", history.EffectTried},
		{"SET IFEQ GET of a lock that is gone", none, none, "set lock t ifeq t get px 10000", "(nil)",
			history.EffectNothing},
		{"SET IFEQ GET after the lock has just expired", str(token, 1001*time.Millisecond), none,
			"set lock t ifeq t get px 10000", "(nil)", history.EffectNothing},
		{"SET IFEQ in a script after the lock has just expired", str(token, 1001*time.Millisecond), none,
			"eval; set lock t ifeq t px 10000", "0", history.EffectTried},
		{"takes another's by SET IFEQ GET", theirs, mine, "set lock t ifeq theirs get px 10000", `"theirs"`,
			history.EffectAcquired},
		{"acquires by SET IFNE GET", none, mine, "set lock t ifne t get px 10000", "(nil)", history.EffectAcquired},

		{"renews a lock that is gone", none, none, "pexpire lock 1000", "0", history.EffectNothing},
		{"a script renews a lock that is gone", none, none, "eval; pexpire lock 1000", "0", history.EffectNothing},
		{"renews by XX a lock that is gone", none, none, "set lock t xx px 1000", "(nil)", history.EffectNothing},
		{"gets a TTL by a second command", str(token, 0), mine, "expire lock 10", "1", history.EffectRenewed},
		{"has a TTL already, so EXPIRE NX fails", mine, mine, "expire lock 10 nx", "0", history.EffectTried},
		{"loses its TTL", mine, str(token, 0), "persist lock", "1", history.EffectRenewed | history.Endless},
		{"is reacquired by its owner", held("hash", long, "me"), counts(held("hash", long, "me"), "2"),
			"eval; hexists lock me; hincrby lock me 1", "(nil)", history.EffectRenewed},

		{"releases", mine, none, "del lock", "1", history.EffectReleased},
		{"releases several keys", mine, none, "unlink other lock", "2", history.EffectReleased},
		{"releases by GETDEL", mine, none, "getdel lock", "(token)", history.EffectReleased},
		{"releases by DELEX as the TTL runs out", str(token, 1001*time.Millisecond), none, "delex lock ifeq t", "1",
			history.EffectReleased},
		{"DELEX leaves another's", theirs, theirs, "delex lock ifeq t", "0", history.EffectTried},
		{"DELEX IFNE leaves its own", mine, mine, "delex lock ifne t", "0", history.EffectTried},
		{"a transaction's DELIFEQ leaves another's", theirs, theirs, "exec; delifeq lock t; incr beats", "[0 1]",
			history.EffectTried},
		{"releases by DELIFEQ", mine, none, "delifeq lock t", "1", history.EffectReleased},
		{"a refused DELIFEQ, and a SET of the same value", theirs, theirs,
			"eval; delifeq lock t; set lock theirs ifeq theirs px 10000", "OK", history.EffectRenewed},
		{"a DELEX, and a SET of the same value", theirs, theirs, "eval; delex lock ifeq theirs; set lock theirs px 10000",
			"OK", history.EffectAcquired},
		{"releases by a script", mine, none, "eval; get lock; del lock", "(nil)", history.EffectReleased},
		{"releases by EXPIRE 0", mine, none, "expire lock 0", "1", history.EffectReleased},
		{"a script leaves another's", theirs, theirs, "eval; get lock", "0", history.EffectTried},
		{"releases what is gone", none, none, "del lock", "0", history.EffectNothing},
		{"removes and recreates it", theirs, theirs, "eval; del lock; set lock theirs px 10000", "OK",
			history.EffectAcquired},
		{"creates and removes it", none, none, "eval; set lock t; del lock", "1", history.EffectNothing},

		{"acquires a permit besides others", held("zset", long, "a"), held("zset", long, "a", "b"),
			"eval; zremrangebyscore lock -inf 1; zcard lock; zadd lock 1 b; pexpire lock 10000", "2",
			history.EffectAcquired | history.Beside},
		{"takes over an expired permit", held("zset", long, "a"), held("zset", long, "b"),
			"eval; zremrangebyscore lock -inf 1; zcard lock; zadd lock 1 b", "1", history.EffectAcquired},
		{"drops expired permits", held("zset", long, "a", "b"), held("zset", long, "b"),
			"eval; zremrangebyscore lock -inf 1; zcard lock", "0", history.EffectTried},
		{"renews a permit", held("zset", long, "a", "b"), counts(held("zset", long, "a", "b"), "2"),
			"eval; zadd lock XX 2 a", "1", history.EffectRenewed},
		{"renews a permit that is gone", held("zset", long, "b"), held("zset", long, "b"), "eval; zadd lock XX 2 a", "0",
			history.EffectTried},
		{"releases a permit", held("zset", long, "a", "b"), held("zset", long, "b"), "zrem lock a", "1",
			history.EffectReleased},
		{"releases the last permit", held("zset", long, "a"), none, "eval; zrem lock a", "1", history.EffectReleased},
		{"releases an unknown permit", held("zset", long, "a"), held("zset", long, "a"), "eval; zrem lock c", "0",
			history.EffectTried},

		{"enters a queue behind another", list("a"), list("a", "b"), "rpush lock b", "2",
			history.EffectAcquired | history.Beside | history.Endless},
		{"leaves a queue to the next", list("a", "b"), list("b"), "lpop lock", `"a"`,
			history.EffectReleased},
		{"looks at a queue", list("a", "b"), list("a", "b"), "lindex lock 0", `"a"`, history.EffectTried},
		{"looks by GETEX", theirs, theirs, "getex lock", `"theirs"`, history.EffectTried},

		{"is a value", theirs, theirs, "set order lock", "OK", history.EffectNothing},
		{"is refused", theirs, theirs, "set lock t nx", "-READONLY You can't write against a read only replica.",
			history.EffectNothing},
	} {
		assert.Equal(t, one.want, effect(t, false, one.before, one.after, one.does, one.reply, token), one.what)
	}
}

// The count of a reentrant lock steps when its holder takes it again, or gives back one of several; a time does not.
func TestStepsOfReentrantLock(t *testing.T) {
	lock := Lock{Key: Key{Name: "lock"}, Rest: none}
	l := &Looker{locks: []Lock{lock}, table: commands}
	const long = 10 * time.Second
	for _, one := range []struct {
		was, is string
		want    bool
	}{{"1", "2", true}, {"2", "1", true}, {"1", "1", false}, {"1700000000", "1700000001", false}} {
		state := func(n string, lease time.Duration) map[Key]KeyState {
			return map[Key]KeyState{lock.Key: counts(held("hash", lease, "me"), n)}
		}
		c := &execution{sent: []string{"eval", "return 1", "1", "lock"}, reply: "1", lines: []line{
			{at: began.Add(time.Second), script: true, args: []string{"hset", "lock", "me", one.is}},
			{at: began.Add(time.Second), script: true, args: []string{"pexpire", "lock", "20000"}}}}
		want := []keyEffect{{key: "lock", effect: history.EffectRenewed, stepped: one.want}}
		assert.Equal(t, want, l.effects(c, state(one.was, long), state(one.is, 2*long)), one.is)
	}
}

// effect returns what a command did to the key called lock, or to the stock.
func effect(t *testing.T, stock bool, before, after KeyState, does, reply, token string) history.Effect {
	t.Helper()
	c := &execution{}
	c.reply, c.failed = strings.CutPrefix(reply, "-")
	for i, text := range strings.Split(does, "; ") {
		args := strings.Fields(text)
		for j := range args {
			if args[j] == "t" {
				args[j] = token
			}
		}
		if i == 0 {
			c.sent = args
			c.exec = args[0] == "exec"
			if isScriptCall(args) {
				c.sent = []string{args[0], "return 1", "1", "lock"}
			}
			if c.exec && c.reply == "(nil)" {
				c.sent = []string{"decrby", "lock", "1"} // the transaction's first command
				continue
			}
		}
		c.lines = append(c.lines, line{at: began.Add(time.Second), script: i > 0 && !c.exec, args: args})
	}
	after.At = began.Add(time.Second + time.Millisecond)
	lock := Lock{Key: Key{Name: "lock"}, Rest: none}
	if before.Kind == "string" || after.Kind == "string" {
		lock.Parts = []string{""}
	}
	l := &Looker{stock: Shelf{Key: "units"}, locks: []Lock{lock}, table: commands}
	if stock {
		l.stock, l.locks = Shelf{Key: "lock"}, nil
	}
	effects := l.effects(c, map[Key]KeyState{lock.Key: before}, map[Key]KeyState{lock.Key: after})
	if len(effects) == 0 {
		return history.EffectNothing
	}
	require.Len(t, effects, 1)
	require.Equal(t, "lock", effects[0].key)
	return effects[0].effect
}

// Any command that Redis flags as a write counts as one, whatever it changed, unless it only concerns the key's expiry.
// One that returns neither the value nor a part of it is no read. The stock's key is named lock here too.
func TestEffectsOnTheStock(t *testing.T) {
	five := str("5", 0)
	for _, one := range []struct {
		does, reply string
		want        history.Effect
	}{
		{"get lock", `"5"`, history.EffectRead},
		{"watch lock", "OK", history.EffectRead},
		{"set lock 5", "OK", history.EffectWrote},
		{"decrby lock 0", "5", history.EffectWrote},
		{"eval; get lock; set lock 5", "(nil)", history.EffectWrote},
		{"eval; get lock", "[0 5]", history.EffectRead},
		{"pexpire lock 1000", "1", history.EffectNothing},
		{"persist lock", "1", history.EffectNothing},
		{"exec; get lock; persist lock", "[5 1]", history.EffectRead},
		{"eval; expire lock 60; decrby lock 1", "4", history.EffectWrote},
		{"getex lock persist", `"5"`, history.EffectRead},
		{"getdel lock", `"5"`, history.EffectWrote},
		{"ttl lock", "60", history.EffectNothing},
		{"exists lock", "1", history.EffectNothing},
		{"touch lock", "1", history.EffectNothing},
		{"dump lock", "5", history.EffectRead},
		{"rename lock other", "OK", history.EffectWrote},
		{"copy lock other", "1", history.EffectRead},
		{"msetnx lock 100 other 1", "0", history.EffectRead},
		{"set lock 5 get", "(nil)", history.EffectWrote},
		{"set lock 5 nx get", `"5"`, history.EffectRead},
		{"set lock 5 xx get", `"5"`, history.EffectWrote},
		{"set lock 5 xx get", "(nil)", history.EffectRead},
		{"set lock 5 get keepttl", "(nil)", history.EffectWrote},
		{"setnx lock 100", "0", history.EffectRead},
		{"set lock 5 ifeq 5", "OK", history.EffectWrote},
		{"set lock 4 ifeq 6", "(nil)", history.EffectRefused},
		{"set lock 4 ifeq 6 get", `"5"`, history.EffectRefused},
		{"set lock 5 ifeq 5 get", `"5"`, history.EffectWrote},
		{"set lock 4 ifne 5 get", `"5"`, history.EffectRead},
		{"set lock 5 ifne 0", "OK", history.EffectWrote},
		{"exec; set lock 4 ifeq 6; incr other", "[(nil) 1]", history.EffectRefused},
		{"eval; set lock 5 ifeq 5", "1", history.EffectWrote},
		{"eval; set lock 4 ifeq 6", "0", history.EffectRefused},
		{"eval; set lock 4; set lock 5 ifeq 4", "0", history.EffectWrote},
		{"delex lock ifeq 1", "0", history.EffectRefused},
		{"delifeq lock 1", "0", history.EffectRefused},
		{"exec; decrby lock 1; set other 1", "[4 OK]", history.EffectWrote},
		{"exec; decrby lock 1; incr other", "-[4 WRONGTYPE Operation]", history.EffectWrote},
		{"exec", "(nil)", history.EffectRefused},
		{"eval; get lock", "-STALE a newer token has been seen", history.EffectRefused},
		{"eval", "-NOSCRIPT No matching script. Please use EVAL.", history.EffectNothing},
		{"eval; decrby lock 1; incr other", "-WRONGTYPE Operation script: 6f7f3a, on @user_script:1.", history.EffectWrote},
		{"eval; get lock; incr other", "-ERR user_script:1: nil", history.EffectRead},
		{"decrby lock x", "-ERR value is not an integer or out of range", history.EffectRefused},
		{"set other lock", "OK", history.EffectNothing},
	} {
		assert.Equal(t, one.want, effect(t, true, five, five, one.does, one.reply, ""), "%s: %s", one.does, one.reply)
	}
}

// In a hash only a command that names the stock's field concerns the stock, or one that names none. The stock's field
// is 7, and a value may be 7 as well.
func TestEffectsOnAFieldOfTheStock(t *testing.T) {
	stock := Shelf{Key: "shelf", Field: "7"}
	for does, want := range map[string]history.Effect{
		"hset shelf last 7": history.EffectNothing, "hset shelf last 7 7 4": history.EffectWrote,
		"hmset shelf 7 4": history.EffectWrote, "hsetnx shelf last 7": history.EffectNothing,
		"hincrby shelf last 7": history.EffectNothing, "hincrby shelf 7 -1": history.EffectWrote,
		"hdel shelf last 7": history.EffectWrote, "hdel shelf last": history.EffectNothing,
		"hget shelf 7": history.EffectRead, "hget shelf last": history.EffectNothing,
		"hmget shelf last 7": history.EffectRead, "hgetall shelf": history.EffectRead,
		"hscan shelf 0 count 7": history.EffectRead, "hexists shelf 7": history.EffectNothing,
		"hexpire shelf 7 fields 1 last": history.EffectNothing, "hpersist shelf fields 1 7": history.EffectNothing,
		"expire shelf 7": history.EffectNothing, "del shelf": history.EffectWrote,
		"hgetex shelf persist fields 1 7": history.EffectRead, "hgetex shelf persist fields 1 last": history.EffectNothing,
		"hsetex shelf fields 1 last 7": history.EffectNothing, "hsetex shelf fields 1 7 4": history.EffectWrote,
		"hgetdel shelf fields 1 7": history.EffectWrote, "hgetdel shelf fields 1 last": history.EffectNothing,
	} {
		args := strings.Fields(does)
		l := &Looker{stock: stock, table: commands}
		state := map[Key]KeyState{stock.key(): {Kind: "hash", Parts: map[string]string{"7": "5"}}}
		c := &execution{sent: args, reply: "1", lines: []line{{args: args}}}
		assert.Equal(t, want, l.onStock(c, state, state), does)
	}
}

// A command compares if it reads a lock before it writes that, or anything before it writes the stock, or if the server
// writes either only where it equals an argument.
func TestEffectsThatCompare(t *testing.T) {
	lock := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: none}
	l := &Looker{stock: Shelf{Key: "units"}, locks: []Lock{lock}, table: commands}
	units := KeyState{Kind: "string", Parts: map[string]string{"": "5"}}
	before := map[Key]KeyState{lock.Key: str("mine", 0), {Name: "units"}: units}
	after := map[Key]KeyState{lock.Key: none, {Name: "units"}: units}
	for does, want := range map[string]bool{
		"get lock; del lock": true, "get lock; exists lock; del lock": true, "del lock": false, "del lock; get lock": false,
		"get units; del lock": false, "get units; set units 4": true, "get other; set units 4": true,
		"set units 4; get units": false, "set other 1; set units 4": false,
		"delex lock": false, "delex lock ifeq mine": true, "delifeq lock mine": true, "delex lock ifdeq 0": false,
		"delex lock ifdeq " + digestOf("mine"): true, "delex lock ifne other": false,
		"set units 4 ifeq 5": true, "set units 4 ifne 0": false,
	} {
		c := &execution{sent: []string{"eval", "return 1", "0"}, reply: "1"}
		for text := range strings.SplitSeq("eval; "+does, "; ") {
			c.lines = append(c.lines, line{at: began, script: text != "eval", args: strings.Fields(text)})
		}
		key := "units"
		if strings.Contains(does, "lock") {
			key = "lock"
		}
		compared := false
		for _, e := range l.effects(c, before, after) {
			compared = compared || e.key == key && e.compared
		}
		assert.Equal(t, want, compared, does)
	}
	other := &execution{sent: []string{"eval"}, lines: []line{{args: []string{"get", "units"}},
		{args: []string{"set", "units", "4"}, db: 1}, {args: []string{"set", "units", "4"}}}}
	assert.True(t, commands.readsBefore(other, Key{Name: "units"}))
	assert.False(t, commands.readsBefore(&execution{lines: other.lines[1:]}, Key{Name: "units"}))
}

// A lock with a companion has the value of that. To look at it is to look at the lock, and to set it names the holder.
func TestEffectsOnACompanion(t *testing.T) {
	owner := Lock{Key: Key{Name: "owner"}, Parts: []string{""}, Rest: none}
	lock := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: none, Companions: []Lock{owner}}
	l := &Looker{stock: Shelf{Key: "units"}, locks: []Lock{lock}, table: commands}
	states := func(lock, owner KeyState) map[Key]KeyState {
		return map[Key]KeyState{{Name: "lock"}: lock, {Name: "owner"}: owner}
	}
	free, unnamed := states(none, none), states(str("1", 0), none)
	mine, left := states(str("1", 0), str("mine", 0)), states(none, str("mine", 0))
	for _, one := range []struct {
		does          string
		before, after map[Key]KeyState
		want          []keyEffect
		was, is       string
	}{
		{"incr lock", free, unnamed, []keyEffect{{"lock", history.EffectAcquired | history.Endless, false, false, false}},
			"", ""},
		{"set owner mine", unnamed, mine, []keyEffect{{key: "lock", effect: history.EffectNamed}}, "", "mine"},
		{"get owner", mine, mine, []keyEffect{{key: "lock", effect: history.EffectTried}}, "mine", "mine"},
		{"del owner", mine, unnamed, []keyEffect{{key: "lock", effect: history.EffectNamed}}, "mine", ""},
		{"del lock", mine, left, []keyEffect{{key: "lock", effect: history.EffectReleased}}, "mine", ""},
		{"get owner; del lock", mine, left, []keyEffect{{key: "lock", effect: history.EffectReleased, compared: true}},
			"mine", ""},
		{"get owner", left, left, nil, "", ""},
		{"del owner", left, free, nil, "", ""},
	} {
		c := &execution{sent: strings.Fields(one.does), reply: "1"}
		for text := range strings.SplitSeq(one.does, "; ") {
			c.lines = append(c.lines, line{at: began, script: text != one.does, args: strings.Fields(text)})
		}
		assert.Equal(t, one.want, l.effects(c, one.before, one.after), one.does)
		assert.Equal(t, one.was, strings.Join(l.valuesOf("lock", one.before), " "), one.does)
		assert.Equal(t, one.is, strings.Join(l.valuesOf("lock", one.after), " "), one.does)
	}
}

// A counter that steps beyond its value at rest, and a list with more tokens than at rest, are free and not at rest.
// The command that does so gave back too much.
func TestEffectsBeyondRest(t *testing.T) {
	counter := func(n string) KeyState { return str(n, 0) }
	gate := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: none, Steps: 1}
	places := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: counter("1"), Steps: -1}
	tokens := Lock{Key: Key{Name: "lock"}, Parts: []string{"0"}, Rest: list("token")}
	for _, one := range []struct {
		does          string
		lock          Lock
		before, after KeyState
		want          history.Effect
		atRest        bool
	}{
		{"decr lock", gate, counter("1"), counter("0"), history.EffectReleased, true},
		{"decr lock", gate, counter("0"), counter("-1"), history.EffectExcess, false},
		{"decr lock", gate, none, counter("-1"), history.EffectExcess, false},
		{"incr lock", gate, counter("-1"), counter("0"), history.EffectNothing, true},
		{"incr lock", gate, counter("-2"), counter("-1"), history.EffectNothing, false},
		{"del lock", gate, counter("-1"), none, history.EffectNothing, true},
		{"incr lock", places, counter("0"), counter("1"), history.EffectReleased, true},
		{"incr lock", places, counter("1"), counter("2"), history.EffectExcess, false},
		{"rpush lock token", tokens, none, list("token"), history.EffectReleased, true},
		{"rpush lock token", tokens, list("token"), list("token", "token"), history.EffectExcess, false},
	} {
		l := &Looker{stock: Shelf{Key: "units"}, locks: []Lock{one.lock}, table: commands}
		sent, key := strings.Fields(one.does), one.lock.Key
		c := &execution{sent: sent, reply: "1", lines: []line{{at: began, args: sent}}}
		var got history.Effect
		for _, e := range l.effects(c, map[Key]KeyState{key: one.before}, map[Key]KeyState{key: one.after}) {
			got |= e.effect
		}
		assert.Equal(t, one.want, got, one)
		assert.Equal(t, one.atRest, one.lock.AtRest(one.after), one)
	}
}

// A command that affected two keys appears twice in a trace, once with each key. For a lock it has digests of the
// values before and after, and of the values in its arguments.
func TestEffectsOnTwoKeysAreTwoCommands(t *testing.T) {
	lock := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: KeyState{Kind: "none"}}
	l := &Looker{locks: []Lock{lock}, values: map[string]map[string]bool{}}
	l.keep("lock", []string{"a token"})
	l.keep("lock", []string{"another token"})
	cmd := &Command{Seen: Seen{Command: schedule.Command{Name: "exec", Server: &schedule.Server{}}, Conn: 3,
		Reply: "[4 1]", Args: []string{"get", "stock", "a token"}, Answered: time.Now()}}
	held := map[Key]KeyState{lock.Key: {Kind: "string", Parts: map[string]string{"": "a token"}}}
	both := &seen{before: held, after: map[Key]KeyState{lock.Key: {Kind: "none"}},
		effects: []keyEffect{{key: "lock", effect: history.EffectReleased, compared: true},
			{key: "stock", effect: history.EffectWrote}}}
	got := l.withEffects(cmd, both)
	assert.Equal(t, []string{"lock", "stock"}, []string{got[0].Key, got[1].Key})
	own := digest("a token")
	text := "get stock a token"
	assert.Equal(t, &history.Carried{Text: text, Conn: 3, Was: own, Named: []string{own}, Compared: true}, got[0].Wire)
	assert.Equal(t, &history.Carried{Text: text, Conn: 3}, got[1].Wire)
	assert.Len(t, l.withEffects(cmd, &seen{}), 1)
	both.effects[0].expired = true
	assert.Empty(t, l.withEffects(cmd, both)[0].Wire.Was)
	script := []string{"eval", "return redis.call('GET', KEYS[1]) == 'another token'", "1", "lock"}
	assert.Equal(t, []string{digest("another token")}, l.named("lock", script))
	assert.Equal(t, []string{digest("a token")}, l.named("lock", []string{"delex", "lock", "IFDEQ", digestOf("a token")}))
}

func TestMonitorLines(t *testing.T) {
	for text, want := range map[string]line{
		`+1339518083.107412 [0 127.0.0.1:60866] "get" "k"`: {from: "127.0.0.1:60866", args: []string{"get", "k"}},
		`+1339518083.107412 [0 [::1]:60866] "echo" "] \""`: {from: "[::1]:60866", args: []string{"echo", `] "`}},
		`+1339518083.107412 [12 lua] "SET" "k" "\x00\xff\"\\\r\n\t\a\b"`: {db: 12, script: true, from: "lua",
			args: []string{"SET", "k", "\x00\xff\"\\\r\n\t\a\b"}},
		`+1339518083.107412 [0 unix:/tmp/redis.sock] "set" "k" ""`: {from: "unix:/tmp/redis.sock",
			args: []string{"set", "k", ""}},
	} {
		want.at = time.UnixMicro(1339518083107412)
		got, err := parseLine(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "+OK", "-ERR unknown", `+1.2 [0 lua] "get`, `+x.2 [0 lua] "get"`, `+1.2 [0 lua] get`,
	} {
		_, err := parseLine(text)
		assert.ErrorContains(t, err, "not a line of MONITOR", text)
	}
}
