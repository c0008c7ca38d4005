package stage

import (
	"strings"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// A findingEvent is one of the audit's answers.
type findingEvent struct {
	Letter  string `json:"letter"`
	Verdict string `json:"verdict"`
	Result  string `json:"result"`
	Because string `json:"because,omitempty"`
}

// judged shows what the audit says of a round.
func (s *Stage) judged(j judgement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.err != nil {
		if s.ctx.Err() == nil {
			s.record.add("trouble", map[string]any{"error": j.err.Error()})
		}
		return
	}
	cell := j.cell
	s.cells = append(s.cells, cell)
	findings := []findingEvent{}
	for _, f := range cell.Findings {
		letter := terminal.Letters[f.Verdict]
		if f.Verdict == history.Valid && f.Result == history.OK || f.Result == history.NotApplicable {
			continue
		}
		findings = append(findings, findingEvent{letter, string(f.Verdict), string(f.Result), f.Because})
	}
	points := s.class.score(broken(cell), countOf(cell.SoldTwice()))
	s.sheet = append(s.sheet, page{Cell: cell, Round: &s.rounds[s.number], First: s.class.count(0),
		Second: s.class.count(1), Best: best(points)})
	left := int64(-1)
	if cell.Left != nil {
		left = *cell.Left
	}
	s.record.add("verdict", map[string]any{"findings": findings, "story": audit.Story(cell.Findings),
		"sold": cell.Tally().Sold, "left": left, "twice": cell.SoldTwice(), "best": best(points)})
	s.setPhase(judged)
	if s.options.Keep != nil {
		go s.keep()
	}
}

// broken returns the letters of those verdicts of a cell that broke and that a class votes about.
func broken(cell *history.Cell) string {
	var text strings.Builder
	all := terminal.LettersOf(cell.Findings, history.Broken)
	for _, letter := range letters {
		if strings.ContainsRune(all, letter) {
			text.WriteRune(letter)
		}
	}
	return text.String()
}

// keep writes what there is so far.
func (s *Stage) keep() {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.options.Keep(s); err != nil {
		s.record.add("trouble", map[string]any{"error": err.Error()})
	}
}

// Run describes the class as a run, whose cells are its rounds.
func (s *Stage) Run(build string) *history.Run {
	cells := s.Cells()
	return &history.Run{ID: "stage", Started: s.record.start, Loadtest: build, Selected: len(cells),
		Machine: history.ThisMachine(), Backend: s.servers.backend.Backend, Cells: cells,
		Load: history.Load{Stock: onShelf, Repeat: 1, Requests: len(animals), Concurrency: len(animals), Wait: time.Minute}}
}
