package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes every figure of every round.
func (r *Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}
