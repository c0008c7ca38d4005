package stage

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A Round is one exercise: a rung, a situation, and a question for the class.
type Round struct {
	Title     string        `yaml:"title"`
	Rung      string        `yaml:"rung"`
	Next      string        `yaml:"next"` // the rung whose code is shown as the difference; may be empty
	Situation string        `yaml:"situation"`
	Question  string        `yaml:"question"`
	Lease     time.Duration `yaml:"lease"`
	Work      time.Duration `yaml:"work"`  // between the read and the write of an order
	Wait      time.Duration `yaml:"wait"`  // the longest wait of an order for the lock
	Fault     string        `yaml:"fault"` // what happens to Anna's order if it is the first at a, as a line
	Trace     string        `yaml:"trace"` // played command by command, in place of manual orders
	Do        []string      `yaml:"do"`    // the teacher's script
	Look      string        `yaml:"look"`

	Breaks string `yaml:"breaks"` // the letters of the verdicts that the script breaks
	Twice  string `yaml:"twice"`  // the number of units that it sells twice: 0, 1 or more
	Play   string `yaml:"play"`   // the rung that fixes it, and a line that shows it

	Code []string `yaml:"code"` // shown instead of a difference if there is no next rung

	rung  catalog.Rung
	steps []schedule.Step
	line  schedule.Line // its fault; while its fix is played, that of the fix
	mend  *mend         // its fix; nil if it has none
	own   []line        // the code of the rung
	diff  []line        // the changes of the next rung
}

//go:embed rounds.*.yaml
var ownRounds embed.FS

// ReadRounds returns the rounds of a file or, without one, those of the workshop in that language.
func ReadRounds(file, language string) ([]Round, error) {
	name := cmp.Or(file, "rounds."+language+".yaml")
	text, err := ownRounds.ReadFile(name)
	if file != "" {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	rounds, err := parseRounds(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rounds, nil
}

// keys are the keys of the teacher's page, by their actions while the class buys.
var keys = map[string]string{"anna": "A", "bert": "B", "all": "E", "pause": "P", "kill": "K", "cut": "X", "slow": "S",
	"continue": "C", "step": "Space"}

// names reports whether the script names the key of an action. Without a script it is always true.
func (r *Round) names(do string) bool {
	script := r.script()
	return len(script) == 0 || slices.Contains(script, keys[do])
}

// script returns the keys of the script, in its order.
func (r *Round) script() (all []string) {
	for _, line := range r.Do {
		if key, _, is := strings.Cut(line, ":"); is {
			all = append(all, key)
		}
	}
	return all
}

// isAsMeant reports whether the verdict is the intended one. A round that names none accepts any.
func (r *Round) isAsMeant(cell *history.Cell) bool {
	broken := inLetters(cell)
	return r.Breaks == "" && r.Twice == "" || len(broken) == len(r.Breaks) && strings.Trim(broken, r.Breaks) == ""
}

const (
	maxRounds = 40 // each has a place in the menu
	maxLease  = time.Minute
	maxWait   = time.Minute
	maxWork   = 20 * time.Second
)

func parseRounds(text []byte) ([]Round, error) {
	var rounds []Round
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField())
	var mismatch *yaml.TypeError
	switch err := d.Decode(&rounds); {
	case errors.As(err, &mismatch) && mismatch.DstType == reflect.TypeFor[time.Duration]():
		return nil, fmt.Errorf("line %d: %s is not a duration such as 8s", mismatch.Token.Position.Line, mismatch.Token.Value)
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("line %d: a value must be %s", mismatch.Token.Position.Line, history.KindOf(mismatch.DstType))
	case err != nil && strings.HasPrefix(err.Error(), "time: "):
		_, text, _ := strings.Cut(err.Error(), "duration ")
		return nil, fmt.Errorf("%s is not a duration such as 8s", text)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document: ---")
	}
	if len(rounds) == 0 || len(rounds) > maxRounds {
		return nil, fmt.Errorf("it has %d rounds, not 1 to %d", len(rounds), maxRounds)
	}
	for i := range rounds {
		if err := rounds[i].complete(); err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return rounds, nil
}

// complete checks a round, and sets defaults.
func (r *Round) complete() error {
	r.rung = catalog.RungOf(r.Rung)
	lease := 8 * time.Second
	if r.Trace != "" {
		lease = maxLease // so that it does not expire while the teacher explains a step
	}
	r.Lease, r.Wait = cmp.Or(r.Lease, lease), cmp.Or(r.Wait, 20*time.Second)
	switch {
	case r.rung.Number == "":
		return fmt.Errorf("there is no rung %q", r.Rung)
	case r.rung.Kind != catalog.Redis && r.rung.Kind != catalog.Nodes && r.rung.Kind != catalog.NoLock:
		return fmt.Errorf("%s cannot be shown: its locks are not in Redis", r.Rung)
	case r.Next != "" && catalog.RungOf(r.Next).Number == "":
		return fmt.Errorf("next: there is no rung %q", r.Next)
	case r.Title == "":
		return errors.New("it has no title")
	}
	err := errors.Join(r.checkBounds(), r.readTrace())
	if r.Fault != "" && err == nil {
		r.line, err = readLine("fault", r.Fault, canHit, "a<read or a>write, then stop, cut or crash with -a")
	}
	if r.Play != "" && err == nil {
		r.mend, err = readMend(r.Play)
	}
	return err
}

// checkBounds returns an error for a duration, letter or number that is out of bounds.
func (r *Round) checkBounds() error {
	switch {
	case r.Lease < time.Second || r.Lease > maxLease:
		return fmt.Errorf("lease: %v is not between 1s and 1m; 6s to 10s leave time to act", r.Lease)
	case r.Work < 0 || r.Work > maxWork:
		return fmt.Errorf("work: %v is not between 0s and 20s", r.Work)
	case r.Wait < 0 || r.Wait > maxWait:
		return fmt.Errorf("wait: %v is not between 0s and 1m", r.Wait)
	case !lettersOnly(r.Breaks):
		return fmt.Errorf("breaks: %q must have only the letters %s, each once", r.Breaks, letters)
	case r.Twice != "" && !slices.Contains(counts, r.Twice):
		return fmt.Errorf("twice: %q is not one of %s", r.Twice, strings.Join(counts, ", "))
	}
	return nil
}

// readTrace parses the trace, which may only have commands of a and b, and time that passes.
func (r *Round) readTrace() error {
	if r.Trace == "" {
		return nil
	}
	trace, err := schedule.ParseTrace(r.Trace)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	if trace.Rung != r.Rung || trace.Situation != "" {
		return fmt.Errorf("trace: %s is not one of %s with two orders", r.Trace, r.Rung)
	}
	for _, step := range trace.Steps {
		if step.Kind > schedule.Expiry || step.Who > 1 || step.Nth > 0 {
			return fmt.Errorf("trace: the step %s cannot be shown: use a, b, time and expiry", step)
		}
	}
	r.steps = trace.Steps
	return nil
}

// letters are the verdicts that a class votes on; counts are the possible numbers of units sold twice.
const letters = "SERL"

var counts = []string{"0", "1", "more"}

// lettersOnly reports whether a text consists of letters, each at most once.
func lettersOnly(text string) bool {
	for i, c := range text {
		if !strings.ContainsRune(letters, c) || strings.ContainsRune(text[:i], c) {
			return false
		}
	}
	return true
}

// compare sets the code of the rung, and its difference from that of the next one. Both are empty if the stockapi has
// no source.
func (r *Round) compare(ctx context.Context, stockapi string) {
	r.own, r.diff = []line{}, []line{} // a page expects lists
	for _, text := range r.Code {
		r.diff = append(r.diff, line{" ", text})
	}
	texts := [2]string{}
	for i, number := range []string{r.Rung, r.Next} {
		text, err := exec.CommandContext(ctx, stockapi, "source", number).Output()
		if number == "" || err != nil {
			return
		}
		_, texts[i], _ = strings.Cut(string(text), "\n)\n") // its imports
		if i == 0 {
			r.own = diff("", texts[0])
		}
	}
	if r.Next != "" {
		r.diff = slices.DeleteFunc(diff(texts[0], texts[1]), line.isSignature)
	}
}
