package explain

import (
	"html"
	"strings"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

// state is what acts act on: how many units are left or, for a lock, who has it.
type state = int64

// act is one thing that is done in a window, at one moment of its span.
type act struct {
	span
	op   *history.Op // nil for what the shop did itself
	text string
	more []string
	// step returns the state that the act leaves, or false if it cannot take place in this one.
	step func(state) (state, bool)
}

// question is what Porcupine is asked: is there a sequence of these acts, each at a moment of its span, in which every one
// can take place?
type question struct {
	acts    []*act
	initial state
	// tell puts a state into words.
	tell func(state) string
}

// closed gives what has no end one behind all others, so that it can be drawn.
func (q *question) closed() *question {
	_, to := extent(q.acts)
	for _, a := range q.acts {
		if a.ret == open {
			a.ret = to + 1
		}
	}
	return q
}

// without is the same question, an order left out.
func (q *question) without(op *history.Op) *question {
	rest := &question{initial: q.initial, tell: q.tell}
	for _, a := range q.acts {
		if a.op != op {
			rest.acts = append(rest.acts, a)
		}
	}
	return rest
}

// model is the question's rules. Porcupine's page puts what it tells of states and details into its markup as it is.
func (q *question) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return q.initial },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := in.(*act).step(s.(state))
			return ok, next
		},
		DescribeOperation: func(in, _ any) string { return in.(*act).text },
		DescribeState:     func(s any) string { return html.EscapeString(q.tell(s.(state))) },
		DescribeOperationMetadata: func(in any) string {
			return strings.ReplaceAll(html.EscapeString(strings.Join(in.([]string), "\n")), "\n", "<br>")
		},
	}
}

// operations are the acts as Porcupine takes them, each on its lane.
func (q *question) operations() []porcupine.Operation {
	var out []porcupine.Operation
	for i, lane := range q.lanes() {
		a := q.acts[i]
		out = append(out, porcupine.Operation{
			ClientId: lane.number, Input: a, Call: a.call, Return: a.ret, Metadata: a.more,
		})
	}
	return out
}
