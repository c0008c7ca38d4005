package stage

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// showVerdict shows the audit's verdict on a round, unless the next one has begun.
func (s *Stage) showVerdict(of *shop, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != judging || of.ctx.Err() != nil {
		return
	}
	if err != nil {
		s.record.add("trouble", event{"error": err.Error()})
		return
	}
	cell := of.cell
	findings := []event{}
	for _, f := range cell.Findings {
		letter := terminal.Letters[f.Verdict]
		asked := letter != "" && strings.Contains(letters, letter)
		if (asked || f.Result != history.NotApplicable) && (f.Verdict != history.Valid || f.Result != history.OK) {
			findings = append(findings, of.tell(f))
		}
	}
	best := s.class.score(lettersOf(cell, history.Broken), lettersOf(cell, history.Indeterminate),
		counts[min(cell.SoldTwice(), len(counts)-1)])
	for _, before := range s.cells {
		if before.Scenario == cell.Scenario && before.Rung == cell.Rung {
			cell.Repetition++
		}
	}
	s.cells = append(s.cells, cell)
	s.sheet = append(s.sheet, page{cell, of.round, s.class.count(0), s.class.count(1), best})
	of.mu.Lock()
	of.draw(cell.Findings)
	of.mu.Unlock()
	s.record.add("verdict", event{"findings": findings, "sold": cell.Tally().Sold, "left": cell.Left,
		"twice": cell.SoldTwice(), "best": best})
	s.setPhase(judged)
	if !of.round.isAsMeant(cell) {
		s.tellAstray(of, "verdict", of.round.Breaks, "")
	}
	cell.Astray = of.astray
	s.keeping.Go(func() {
		s.writing.Lock()
		defer s.writing.Unlock()
		if err := s.Keep(s); err != nil {
			s.record.add("trouble", event{"error": err.Error()})
		}
	})
}

// A judge has the audit's findings so far, while the class still buys.
type judge struct {
	cell history.Cell // without its orders
	due  bool         // the orders have changed since the last audit
	told string       // the letters of the broken verdicts already sent to the wall

	findings []history.Finding // of the last audit
}

// judgeSoFar sends each newly broken verdict to the wall. Orders in flight count with the commands that Redis has
// answered. A fresh request has not been sent yet, so liveness is judged at the end. The caller holds s.mu.
func (s *shop) judgeSoFar() {
	s.judge.due = false
	cell := s.cellSoFar()
	s.judge.findings, _ = audit.Judge(cell, history.TimelineOf(cell, catalog.TermsOf(cell)))
	for _, f := range s.judge.findings {
		letter := terminal.Letters[f.Verdict]
		early := slices.Contains([]string{"S", "E", "R"}, letter)
		if f.Result == history.Broken && early && !strings.Contains(s.judge.told, letter) {
			s.judge.told += letter
			s.record.add("broken", s.tell(f))
		}
	}
}

// soFar returns the state of an order so far. The caller holds s.mu.
func (s *shop) soFar(o *order) history.Op {
	if o.op != nil {
		return *o.op
	}
	sent := history.At(s.cell.Start, o.Sent)
	return history.Op{Order: product + "-" + o.id, Phase: history.Buy, Instance: s.sites[o.At].Name, Quantity: 1,
		Outcome: history.Unknown, Due: sent, Sent: sent, Done: history.Never, Trace: slices.Concat(o.trace, o.ends)}
}

// tell returns the event of a finding, with the first piece of its evidence, from which the page forms a sentence in
// its language.
func (s *shop) tell(f history.Finding) event {
	e := event{"letter": terminal.Letters[f.Verdict], "verdict": f.Verdict, "result": f.Result, "because": f.Because}
	if len(f.Evidence) == 0 {
		return e
	}
	first, orders, at := f.Evidence[0], []string{}, []*float64{}
	for _, id := range first.Orders {
		orders = append(orders, s.judge.cell.Short(id))
	}
	for _, one := range first.At {
		at = append(at, s.moment(one))
	}
	e["unit"], e["orders"], e["moments"] = first.Unit, orders, at
	return e
}

// inLetters returns the verdicts of a cell as in the matrix: the letters of the broken ones and, after a question mark,
// those of the unknown ones.
func inLetters(cell *history.Cell) string {
	text := lettersOf(cell, history.Broken)
	if unknown := lettersOf(cell, history.Indeterminate); unknown != "" {
		text += "?" + unknown
	}
	return text
}

// lettersOf returns the letters of a cell's verdicts with that result, limited to those that a class votes on.
func lettersOf(cell *history.Cell, result history.Result) string {
	all := terminal.LettersOf(cell.Findings, result)
	return strings.Map(func(letter rune) rune {
		if !strings.ContainsRune(all, letter) {
			return -1
		}
		return letter
	}, letters)
}

// Run returns the class as a run, whose cells are the judged rounds. Each has its own load and times.
func (s *Stage) Run(build string) *history.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &history.Run{ID: "stage", Started: s.record.start, Loadtest: build, Selected: len(s.cells),
		Machine: history.ThisMachine(), Backend: s.bed.Backend, Cells: slices.Clone(s.cells),
		Load: history.Load{Stock: onShelf, Repeat: 1}}
}

// A page of the sheet is a round with both votes and the verdict.
type page struct {
	Cell          *history.Cell
	Round         *Round
	First, Second count
	Best          []winner
}

//go:embed sheet.gohtml
var sheetText string

// WriteSheet writes an HTML page with all rounds of a class, the votes next to the verdicts.
func (s *Stage) WriteSheet(w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sheet, err := template.New("sheet").Funcs(template.FuncMap{
		"word":  func(key string) string { return s.words[key] },
		"votes": func(n count) string { return n.text(s.words) },
		"said":  inLetters,
		"story": s.story,
	}).Parse(sheetText)
	if err != nil {
		return err
	}
	return sheet.Execute(w, event{"Pages": s.sheet, "Started": s.record.start.Format("2006-01-02 15:04")})
}

// story returns the first violation of a cell: as the audit tells it, in English, and for other languages as the wall.
func (s *Stage) story(c *history.Cell) string {
	f := history.FirstBroken(c.Findings)
	says := s.words["stamp."+terminal.Letters[f.Verdict]]
	if s.Language == "en" || len(f.Evidence) == 0 && strings.Contains(says, "{") {
		return f.Because
	}
	evidence := slices.Concat(f.Evidence, make([]history.Evidence, 1))[0]
	var names []string
	for _, order := range evidence.Orders {
		person, again, _ := strings.Cut(c.Short(order), "-")
		names = append(names, strings.TrimSuffix(s.words["animal."+person]+"-"+again, "-"))
	}
	values := []string{"{orders}", strings.Join(names, s.words["sheet.and"]), "{unit}", fmt.Sprint(evidence.Unit)}
	for i, name := range names {
		values = append(values, fmt.Sprintf("{%d}", i), name)
	}
	return strings.NewReplacer(values...).Replace(says)
}

// text returns the votes in a class's words, such as "S 7, E 9, nothing 2, ×1: 8, several: 3".
func (n count) text(words map[string]string) string {
	var parts []string
	for _, letter := range append(strings.Split(letters, ""), "none") {
		if n.Letters[letter] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", cmp.Or(words[letter], letter), n.Letters[letter]))
		}
	}
	for _, twice := range counts {
		if n.Twice[twice] > 0 {
			label := "×" + twice
			if twice == "more" {
				label = words["amount.more"]
			}
			parts = append(parts, fmt.Sprintf("%s: %d", label, n.Twice[twice]))
		}
	}
	return strings.Join(parts, ", ")
}
