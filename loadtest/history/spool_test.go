package history

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crowded is a cell whose ops lie on disk, once they take more memory than the spool has room for.
func crowded(t *testing.T, room int) (*Cell, *Spool) {
	t.Helper()
	s := NewSpool(t.TempDir())
	s.room = int64(room)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	c := &Cell{Product: "p"}
	c.Keep(s)
	return c, s
}

// fill sets everything that there is in a value to something else than nothing.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	case reflect.Float64:
		v.SetFloat(float64(*next) / 3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	default:
		panic("an op has something new: " + v.String())
	}
}

// Each field that an op has comes back from disk, also one that somebody adds later.
func TestNothingOfAnOpIsForgotten(t *testing.T) {
	var op Op
	next := int64(0)
	fill(reflect.ValueOf(&op).Elem(), &next)
	never := Op{Order: "o", Sent: -5, Due: Never, Done: Never, Lease: &Lease{AcquiredAt: Never, ReleasedAt: Never - 1}}
	plain := Op{Order: "o"}
	flags := Op{Resolved: true, Lease: &Lease{Noticed: true}}
	want := []Op{op, never, plain, flags, {Lease: &Lease{}}, op}
	s := NewSpool(t.TempDir())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b, err := s.write(want)
	require.NoError(t, err)
	got, err := s.read(b)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestOpsOnDiskAreReadAsThoseInMemory(t *testing.T) {
	for _, n := range []int{0, 1, 100, 5000} {
		c, s := crowded(t, blockSize)
		plain := &Cell{Product: "p"}
		for i := range n {
			op := Op{
				Order: fmt.Sprint("p-", i), Phase: Buy, Outcome: []Outcome{Sold, Refused, Unknown}[i%3], Instance: "a",
				Sent: Instant(i * 1000), Done: Instant(i*1000 + 500), Units: []int64{int64(i % 700)}, Detail: "d",
				Lease: &Lease{Token: fmt.Sprint(i)}, Trace: []Command{{Cmd: "set", Key: "k"}, {Cmd: "del", Key: "k"}},
			}
			require.NoError(t, c.Add(&op))
			require.NoError(t, plain.Add(&op))
		}
		assert.Equal(t, n > 100, c.onDisk())
		for _, i := range []int{n - 1, n / 2, 0} {
			if n > 0 {
				changed := Op{Order: fmt.Sprint("changed-", i), Phase: Buy, Outcome: NotSent}
				_ = *c.At(i) // its block is known before the change
				c.Set(i, &changed)
				plain.Set(i, &changed)
			}
		}
		assert.Equal(t, n, c.Len())
		var all []Op
		for i, op := range c.All() {
			assert.Equal(t, len(all), i)
			all = append(all, *op)
		}
		assert.Equal(t, plain.Ops, all)
		for i := 0; i < n; i += 7 {
			assert.Equal(t, plain.At(i), c.At(i))
		}
		for range c.All() {
			break
		}
		assert.Equal(t, plain.Tally(), c.Tally())
		assert.Equal(t, plain.SoldTwice(), c.SoldTwice())
		require.NoError(t, c.Add(&Op{Phase: Buy, Outcome: Sold}))
		assert.Equal(t, plain.Tally().Sold+1, c.Tally().Sold, "it counts again")
		require.NoError(t, s.Err())
	}
}

// All workers of a crowd add their ops at once. One that finds no more room in memory takes all of them to disk.
func TestManyAddAtOnce(t *testing.T) {
	c, _ := crowded(t, 200_000)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 1000 {
				assert.NoError(t, c.Add(&Op{Order: fmt.Sprint(w, " ", i), Quantity: int64(w)}))
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, op := range c.All() {
		seen[op.Order] = true
	}
	assert.Len(t, seen, 8000)
}

func TestNoFileIsMadeForAFewAndNoneIsLeftOfMany(t *testing.T) {
	dir := t.TempDir()
	s := NewSpool(dir)
	s.room = 10 * (&Op{}).size()
	few, many := &Cell{}, &Cell{}
	few.Keep(s)
	many.Keep(s)
	for range 5 {
		require.NoError(t, few.Add(&Op{}))
	}
	assert.Nil(t, s.file)
	for range 100_000 {
		require.NoError(t, many.Add(&Op{Order: "o"}))
	}
	assert.Len(t, few.Ops, 5)
	assert.Less(t, len(many.Ops), 1000)
	require.NotNil(t, s.file)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing to be left behind, whatever ends the process")
	require.NoError(t, few.Add(&Op{}))
	assert.Len(t, few.Ops, 6, "the room of what went to disk is free again")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
}

// A full disk is told once, in a line that names the place, and no op is taken for kept.
func TestAFullDiskIsSaid(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	c, s := crowded(t, 0)
	s.dir, s.open = "/full", func(string) (*os.File, error) { return full, nil }
	for range 100_000 {
		if err = c.Add(&Op{Order: "o"}); err != nil {
			break
		}
	}
	require.ErrorContains(t, err, "the orders cannot be kept in /full: make room there: ")
	assert.ErrorContains(t, err, "no space left on device")
	assert.NotContains(t, err.Error(), "\n")
	assert.Equal(t, err, s.Err())
}

func TestWhatCannotBeReadAgainIsSaid(t *testing.T) {
	c, s := crowded(t, 0)
	for range 20_000 {
		require.NoError(t, c.Add(&Op{Order: "o"}))
	}
	require.NoError(t, s.file.Truncate(100))
	n := 0
	for range c.All() {
		n++
	}
	assert.Less(t, n, 20_000)
	assert.Empty(t, c.At(0).Order)
	assert.ErrorContains(t, s.Err(), "cannot be read again: ")
}

// typical is an order as a rung with leases and traces answers it.
func typical(i int) Op {
	at := Instant(i) * 200_000
	op := Op{
		Order: fmt.Sprintf("lt-2816f6c7-6-v4-%d", i),
		Phase: Buy, Instance: "127.0.0.1:41234-9f3c", Outcome: Refused, Status: 409,
		Detail: "not enough stock", Due: at, Sent: at + 900, Done: at + 4_000_000, Latency: 4_000_900,
		Quantity: 1, WaitedMS: 2.125,
		Lease: &Lease{Token: fmt.Sprintf("%032x", uint64(i)*0x9e3779b97f4a7c15), AcquiredAt: at + 2_000_000,
			ReleasedAt: at + 3_000_000},
	}
	for j, cmd := range []string{"set", "subscribe", "set", "get", "eval:release"} {
		op.Trace = append(op.Trace, Command{
			Node: "127.0.0.1:6379", Cmd: cmd, Key: "{ProductLock_lt-2816f6c7-6-v4}", Reply: "true",
			At: at + Instant(j)*500_000, End: at + Instant(j)*500_000 + 90_000,
		})
	}
	return op
}

func BenchmarkBlock(b *testing.B) {
	s := NewSpool(b.TempDir())
	defer func() { _ = s.Close() }()
	var ops []Op
	for i := range 50 {
		ops = append(ops, typical(i))
	}
	for range b.N {
		at, err := s.write(ops)
		require.NoError(b, err)
		_, err = s.read(at)
		require.NoError(b, err)
		b.ReportMetric(float64(at.size)/50, "B/order")
	}
}
