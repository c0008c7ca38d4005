// Package drawing turns a cell into the data of its timeline, and holds the scripts that draw it in a browser:
// unpack.js unpacks the data; layout.js places the rows, the marks and the texts of a part of it, and decides which
// texts give way; timeline.js draws those as SVG, for a report and for the wall of a class; viewer.js adds the strip,
// the zoom, the list of commands and the keyboard. It makes no judgements: which order held which lock, and until when,
// comes from history's timeline, and what broke from the audit. Start with [Of].
package drawing

import (
	"encoding/json"
	"math"

	"stockapi/loadtest/history"
)

// A Drawing is the timeline of a cell, as timeline.js draws it. Orders, lanes and commands are referred to by index; -1
// is none.
type Drawing struct {
	// Lanes are those of the instances, then of the network and the servers, then of the locks.
	Lanes      []Lane      `json:"lanes"`
	Orders     []Order     `json:"orders"`
	Tenures    []Tenure    `json:"tenures,omitempty"`
	Commands   []Command   `json:"commands,omitempty"`
	Faults     []Fault     `json:"faults,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	// First is the initial frame.
	First Frame `json:"first"`
	// Queue means that the orders are drawn in order of arrival, each in a row of its own.
	Queue bool `json:"queue,omitempty"`
	// Notes are remarks on the whole drawing.
	Notes []string `json:"notes,omitempty"`
}

// A Time is in milliseconds after the start of the cell. NaN means never, and is null in JSON.
type Time float64

// never is the time of an event that did not happen.
var never = Time(math.NaN())

// timeOf returns an instant in milliseconds, to the microsecond.
func timeOf(at history.Instant) Time {
	if !at.Known() {
		return never
	}
	return inMillis(float64(at))
}

// inMillis returns a time in nanoseconds as milliseconds, to the microsecond.
func inMillis(ns float64) Time { return Time(math.Round(ns/1e3) / 1e3) }

// MarshalJSON writes null for never.
func (t Time) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(t)) || math.IsInf(float64(t), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(t))
}

// Known reports whether the event happened.
func (t Time) Known() bool { return !math.IsNaN(float64(t)) }

// A Lane is a band of the drawing. Kind is instance, lock, or around: the network or servers.
type Lane struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Title is the full name of a lock: its key and its node.
	Title string `json:"title,omitempty"`
	// Colour is a number from 0 to 3. An instance's orders have its colour.
	Colour int `json:"colour"`
}

// An Order is a bar on the lane of its instance.
type Order struct {
	// ID is unique in the cell. Name is a display name, such as "Anna"; without one it is "order" and its ID.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Lane int    `json:"lane"`
	// Sent and Done are the times of its request and its answer.
	Sent Time `json:"sent"`
	Done Time `json:"done"`
	// From and To are its lease or, without one, its time at the stock. Both are never if it had neither; To is never if
	// the end is unknown.
	From  Time `json:"from"`
	To    Time `json:"to"`
	Lease bool `json:"lease,omitempty"`
	// Released is when it released its lock, according to its lease.
	Released Time `json:"released"`
	// Lost is how it lost its lock before that, between Since and At. It is nil if it kept the lock.
	Lost *Lost `json:"lost,omitempty"`
	// Fence is its fencing token, counted from 1 in the cell; 0 if it has none.
	Fence   int     `json:"fence,omitempty"`
	Outcome string  `json:"outcome"`
	Units   []int64 `json:"units,omitempty"`
	// Does is its outcome as a predicate, such as "sells unit # again", where # is its first unit.
	Does string `json:"does"`
	// Turn describes in which turn of a queue it acquired the lock. Overtaken means that this was not its own turn.
	Turn      string `json:"turn,omitempty"`
	Overtaken bool   `json:"overtaken,omitempty"`
}

// Lost describes how an order lost its lock while it believed that it still held it.
type Lost struct {
	Since Time   `json:"since"`
	At    Time   `json:"at"`
	How   string `json:"how,omitempty"` // as of a tenure
	Why   string `json:"why"`
}

// A Tenure is a bar on the lane of a lock: solid from From to Since, dashed until At.
type Tenure struct {
	Lane  int    `json:"lane"`
	Order int    `json:"order"`
	From  Time   `json:"from"`
	Since Time   `json:"since"`
	At    Time   `json:"at"`
	How   string `json:"how,omitempty"` // released, removed, expired, session or gone
	Why   string `json:"why,omitempty"`
	// Maybe means that the tenure is uncertain, such as that of an order that died and returned no trace.
	Maybe bool `json:"maybe,omitempty"`
	// Beside means that others may hold the lock at the same time.
	Beside bool `json:"beside,omitempty"`
}

// A Command is a mark on its order's bar. Kind is read, write, refused (a write that the stock refused), unsure (a
// write whose reply was lost), acquire, renew, release, woken or other.
type Command struct {
	Order int    `json:"order"`
	Lane  int    `json:"lane"` // of the instance that sent it
	Lock  int    `json:"lock"` // the lane of the lock that it is about
	Kind  string `json:"kind"`
	// Failed means that it did not have the intended effect.
	Failed bool `json:"failed,omitempty"`
	// Came is when it arrived at a wire, Heard when its sender got the reply. Both are never if no wire carried it.
	Came  Time `json:"came"`
	At    Time `json:"at"`
	End   Time `json:"end"`
	Heard Time `json:"heard"`
	// Text is the command as it was sent, or as its sender reported it; Reply is the reply, or the error.
	Text   string `json:"text"`
	Reply  string `json:"reply,omitempty"`
	Effect string `json:"effect,omitempty"`
	Node   string `json:"node,omitempty"`
	// Says is the label of the mark, such as "reads 98".
	Says string `json:"says,omitempty"`
}

// A Fault is hatched on the lane of its instance, or on that of the network or of servers. Kind is stop, kill, died, or
// empty if the process kept running.
type Fault struct {
	Lane  int    `json:"lane"`
	Order int    `json:"order"`
	Kind  string `json:"kind,omitempty"`
	From  Time   `json:"from"`
	To    Time   `json:"to"`
	Text  string `json:"text"`
	Short string `json:"short,omitempty"` // where there is little room
}

// A Violation is the first piece of evidence of a verdict that is broken.
type Violation struct {
	Verdict string `json:"verdict"`
	Letter  string `json:"letter"`
	Sign    string `json:"sign"` // the class of its colour: stock-broken, lock-broken, stuck or unfair
	What    string `json:"what"` // in a few words
	Text    string `json:"text"` // in a sentence
	Orders  []int  `json:"orders,omitempty"`
	At      []Time `json:"at,omitempty"`
	Unit    int64  `json:"unit,omitempty"`
}

// A Frame is a part of a drawing: a period, and the orders that matter in it. If there are many others, they are drawn
// small.
type Frame struct {
	From   Time  `json:"from"`
	To     Time  `json:"to"`
	Orders []int `json:"orders,omitempty"`
}
