// Package ui_test looks at the page of `kubectl machine ui` in a real Chromium, which shows objects of a real API server.
package ui_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
	"github.com/millwright-dev/millwright/provider/admit"
	aws "github.com/millwright-dev/millwright/providers/aws/spec"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// browser is a tab of a Chromium, with the complaints of its console.
type browser struct {
	t *testing.T
	context.Context

	mu         sync.Mutex
	complaints []string
}

func openBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Fatal("no Chromium on the PATH: install one, for instance Debian's package chromium")
	}
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	o = append(o, more...)
	alloc, end := chromedp.NewExecAllocator(t.Context(), o...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(end)
	b := &browser{t: t, Context: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleError {
				b.complain(m.Text + " " + m.URL)
			}
		}
	}()
	return b
}

func (b *browser) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

// do acts in the tab within half a minute.
func do[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, end := context.WithTimeout(b.Context, 30*time.Second)
	defer end()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%v; the page says:\n%s\nconsole: %s", err, b.body(), strings.Join(b.complaints, "\n"))
	}
	return value
}

func (b *browser) body() string {
	ctx, end := context.WithTimeout(b.Context, 5*time.Second)
	defer end()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	return text
}

// evaluate is the value of an expression of the page.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	return do(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression of the page is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	do(b, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(25*time.Second)))
}

// awaits waits until the page says each text.
func (b *browser) awaits(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
}

// visit changes the part of the address behind #.
func (b *browser) visit(hash string) {
	b.t.Helper()
	evaluate[string](b, fmt.Sprintf("location.hash = %q", hash))
}

// picture keeps a picture of the page in the folder PICTURES, if that is set.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), do(b, chromedp.CaptureScreenshot()), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// calm fails the test if the console has complaints.
func (b *browser) calm() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.complaints {
		b.t.Error("the console says: " + text)
	}
}

func (b *browser) scheme(name string) {
	b.t.Helper()
	do(b, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
		return cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	})
}

func (b *browser) width(pixels int64) {
	b.t.Helper()
	do(b, chromedp.EmulateViewport(pixels, 1000))
}

// serve serves the page about a namespace of the tests' API server, and returns its address.
func serve(t *testing.T, namespace string) string {
	t.Helper()
	env := devplanetest.Start(t)
	return serveFrom(t, ui.Options{Cluster: "test", Options: live.Options{Control: env.Config, Namespace: namespace, Clock: clock.RealClock{}}})
}

func serveFrom(t *testing.T, o ui.Options) string {
	t.Helper()
	s, err := ui.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]admit.Admitter{"AWS": aws.Admitter{}}
	devplanetest.Run(t, func(ctx context.Context) error { return s.Serve(speccheck.WithAdmitters(ctx, rules), l) })
	return s.Address(l)
}
