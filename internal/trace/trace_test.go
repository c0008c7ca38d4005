package trace

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
)

// A created node has its new name; a definite no is a reply; only an operation without a reply is an error.
func TestZooKeeperOperationsAreRecorded(t *testing.T) {
	ctx, r := Record(context.Background())
	hook := Observer{}.ZooKeeper("zk:2181")
	do := func(name, path, reply string, err error) {
		o := &backend.ZooKeeperOperation{Name: name, Path: path}
		assert.Equal(t, err, hook(ctx, o, func(context.Context) error {
			o.Reply = reply
			return err
		}))
	}
	do("zk:create", "/q/n-", "/q/n-0000000007", nil)
	do("zk:create", "/lock", zk.ErrNodeExists.Error(), zk.ErrNodeExists)
	do("zk:delete", "/lock", "", errors.New("no answer"))
	events := r.Events()
	require.Len(t, events, 3)
	assert.Equal(t, []string{"/q/n-0000000007", "ok", ""}, []string{events[0].Key, events[0].Reply, events[0].Err})
	assert.Equal(t, []string{"/lock", "zk: node already exists", ""},
		[]string{events[1].Key, events[1].Reply, events[1].Err})
	assert.Equal(t, []string{"/lock", "", "no answer"}, []string{events[2].Key, events[2].Reply, events[2].Err})
	assert.Equal(t, "zk:2181", events[0].Node)
	r.Rewind(0) // a waiter keeps the place that it took
	assert.Equal(t, []Event{events[0], events[2]}, r.Events())
}

// A statement that the database aborted in favour of another has a reply, so it did nothing; one without a reply may
// have taken effect.
func TestAbortedStatementsHaveAReply(t *testing.T) {
	ctx, recorder := Record(context.Background())
	observe := Observer{}.SQL("db")
	aborted := &mysql.MySQLError{Number: 1213, Message: "Deadlock found when trying to get lock"}
	for _, err := range []error{aborted, io.ErrUnexpectedEOF, nil} {
		_, _ = observe(ctx, "acquire", "lock", func(context.Context) (int64, error) { return 0, err })
	}
	var told [][2]string
	for _, e := range recorder.Events() {
		told = append(told, [2]string{e.Reply, e.Err})
	}
	assert.Equal(t, [][2]string{{aborted.Error(), ""}, {"", "unexpected EOF"}, {"0", ""}}, told)
}

// A wake-up is recorded besides the commands, unless the order is not recorded.
func TestWakesAreRecorded(t *testing.T) {
	ctx, r := Record(context.Background())
	Woken(ctx, "/lock")
	Woken(context.Background(), "/lock")
	events := r.Events()
	require.Len(t, events, 1)
	assert.Equal(t, []string{"woken", "/lock"}, []string{events[0].Cmd, events[0].Key})
}

// A watcher sees each event as it happens, even of an order that is not recorded, and the beginning of those that take
// long.
func TestEventsAreWatched(t *testing.T) {
	var heard []string
	ctx := Watch(context.Background(), func(e Event) { heard = append(heard, e.Cmd) })
	Woken(ctx, "released")
	From(ctx).begin(Event{Cmd: "fault"})
	assert.Equal(t, []string{"woken", "fault"}, heard)
	assert.Empty(t, From(ctx).Events(), "no trace was requested")
	recorded, r := Record(ctx)
	Woken(recorded, "released")
	r.begin(Event{Cmd: "fault"})
	assert.Equal(t, []string{"woken", "fault", "woken", "fault"}, heard)
	assert.Len(t, r.Events(), 1)
	From(context.Background()).begin(Event{Cmd: "fault"})
}
