package reporttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Chromium returns the path of the browser. Without one it skips the test, or fails it if STOCKAPI_REQUIRE names
// chromium; under -short it skips it.
func Chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	required := strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ",")
	require.False(t, slices.Contains(required, "chromium"), "no Chromium on PATH")
	t.Skip("no Chromium on PATH")
	return ""
}

// A Browser is a Chromium that cannot resolve names.
type Browser struct{ ctx context.Context }

// NewBrowser starts Chromium, until the test ends.
func NewBrowser(t *testing.T) *Browser {
	t.Helper()
	program := Chromium(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox,
		chromedp.NoFirstRun, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	return &Browser{ctx}
}

// A Tab is an open page.
type Tab struct {
	T   *testing.T
	Ctx context.Context

	site  string
	mu    sync.Mutex
	wrong []string // violations, see Open
}

// Open opens a page. Until the test ends it must log nothing, violate no policy, and request only addresses that begin
// with site.
func (b *Browser) Open(t *testing.T, address, site string, width, height int64, o ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, o...)
	p := &Tab{T: t, Ctx: ctx, site: site}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		assert.Empty(t, slices.Compact(p.wrong), address) // an error in one frame repeats in the next
		cancel()
	})
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	p.Run(chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	return p
}

// listen records what the page must not do. A policy violation is an entry in the page's log.
func (p *Tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		p.wrong = append(p.wrong, fmt.Sprint("console: ", e.Type))
		for _, arg := range e.Args {
			p.wrong = append(p.wrong, fmt.Sprintf("console: %s %s", arg.Value, arg.Description))
		}
	case *log.EventEntryAdded:
		p.wrong = append(p.wrong, "log: "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.site) {
			p.wrong = append(p.wrong, "requests "+e.Request.URL)
		}
	}
}

// Forgive drops the errors that mention one of these paths.
func (p *Tab) Forgive(paths ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = slices.DeleteFunc(p.wrong, func(what string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(what, path) })
	})
}

// Run runs actions on the page.
func (p *Tab) Run(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	require.NoError(p.T, chromedp.Do(p.Ctx, actions...))
}

// Evaluate returns the value of an expression in the page. It awaits promises.
func Evaluate[T any](p *Tab, expression string) T {
	p.T.Helper()
	value, err := chromedp.Run(p.Ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.T, err, expression)
	return value
}

// Until waits until an expression is true in the page.
func (p *Tab) Until(expression string) {
	p.T.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if Evaluate[bool](p, "Boolean("+expression+")") {
			return
		}
		require.True(p.T, time.Now().Before(deadline), "%s\n%s", expression, Evaluate[string](p, "document.body.innerText"))
	}
}

// Shows waits until a visible element contains a text.
func (p *Tab) Shows(selector, text string) {
	p.T.Helper()
	p.Until(fmt.Sprintf(`document.querySelector(%q)?.checkVisibility() &&
		document.querySelector(%[1]q).innerText.includes(%q)`, selector, text)) // hidden elements have an innerText too
}

// Press presses a key.
func (p *Tab) Press(key string) {
	p.T.Helper()
	p.Run(chromedp.KeyEvent(key))
}

// Click clicks the button whose text begins with text.
func (p *Tab) Click(text string) {
	p.T.Helper()
	p.Run(chromedp.Click(fmt.Sprintf(`//button[starts-with(., %q)]`, text), chromedp.NodeVisible))
}

// Picture saves screenshots in both colour schemes.
func (p *Tab) Picture(name string) {
	p.T.Helper()
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		require.NoError(p.T, err)
		png, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
		require.NoError(p.T, err)
		assert.NoError(p.T, os.WriteFile(filepath.Join(p.T.ArtifactDir(), name+"-"+scheme+".png"), png, 0o600))
	}
}
