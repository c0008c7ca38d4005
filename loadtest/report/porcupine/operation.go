package porcupine

import (
	"html"
	"strings"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

// A state is what operations read and change: how many units are left or, for a lock, who has it.
type state = int64

// An operation takes effect at one moment of its span: a sale, or an acquire or release of the lock.
type operation struct {
	span
	op   *history.Op // nil for a count of the stock
	text string
	more []string
	// step returns the state after the operation, or false if the operation is not legal in this state.
	step func(state) (state, bool)
}

// A question to Porcupine: is there a legal sequence of these operations, each at a moment of its span?
type question struct {
	operations []*operation
	initial    state
	// describe puts a state into words.
	describe func(state) string
}

// withEnds gives each operation without an end one after all others, so that it can be drawn.
func (q *question) withEnds() *question {
	_, to := extent(q.operations)
	for _, a := range q.operations {
		if a.ret == noEnd {
			a.ret = to + 1
		}
	}
	return q
}

// without returns the same question without one order.
func (q *question) without(op *history.Op) *question {
	rest := &question{initial: q.initial, describe: q.describe}
	for _, a := range q.operations {
		if a.op != op {
			rest.operations = append(rest.operations, a)
		}
	}
	return rest
}

// model returns the rules of the question. Porcupine's page does not escape descriptions of states and details.
func (q *question) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return q.initial },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := in.(*operation).step(s.(state))
			return ok, next
		},
		DescribeOperation: func(in, _ any) string { return in.(*operation).text },
		DescribeState:     func(s any) string { return html.EscapeString(q.describe(s.(state))) },
		DescribeOperationMetadata: func(in any) string {
			return strings.ReplaceAll(html.EscapeString(strings.Join(in.([]string), "\n")), "\n", "<br>")
		},
	}
}

// forPorcupine returns the operations in the form that Porcupine takes, each on its lane.
func (q *question) forPorcupine() []porcupine.Operation {
	var out []porcupine.Operation
	for i, lane := range q.lanes() {
		a := q.operations[i]
		out = append(out, porcupine.Operation{
			ClientId: lane.number, Input: a, Call: a.call, Return: a.ret, Metadata: a.more,
		})
	}
	return out
}
