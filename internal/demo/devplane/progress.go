package devplane

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

const (
	// lineEvery is the interval of progress lines in a log; a terminal shows one line, which changes at most ten times a second.
	lineEvery   = 15 * time.Second
	redrawEvery = 100 * time.Millisecond
	// eraseLine clears the line of the cursor.
	eraseLine = "\r\x1b[K"
)

// progress reports the progress of a build.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	began    time.Time
	told     time.Time
	packages int
	modules  int
}

func newProgress(out io.Writer) *progress {
	if out == nil {
		out = io.Discard
	}
	return &progress{out: out, terminal: terminal.Is(out), now: time.Now, began: time.Now()}
}

// step announces the next step on a line that stays.
func (p *progress) step(text string) {
	p.clear()
	fmt.Fprintf(p.out, "box: %s\n", text)
	p.told = p.now()
}

func (p *progress) compiled(line string, total int) {
	if strings.HasPrefix(line, "go: downloading ") {
		p.downloaded(line)
		return
	}
	if !isPackage(line) {
		return
	}
	p.packages++
	text := fmt.Sprintf("%d of %d packages", p.packages, total)
	if strings.HasSuffix(line, "/dev/box") {
		text += ", linking"
	}
	p.tell(text, line)
}

func (p *progress) downloaded(line string) {
	module, found := strings.CutPrefix(line, "go: downloading ")
	if !found {
		return
	}
	p.modules++
	p.tell(fmt.Sprintf("%d modules downloaded", p.modules), module)
}

// tell shows a state, which the next state replaces.
func (p *progress) tell(state, detail string) {
	pace := lineEvery
	if p.terminal {
		pace = redrawEvery
	}
	if p.now().Sub(p.told) < pace {
		return
	}
	p.told = p.now()
	text := fmt.Sprintf("box: %s, %s", state, p.now().Sub(p.began).Round(time.Second))
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprint(p.out, eraseLine+terminal.Line(text+"  "+detail, terminal.SizeOf(p.out).Width))
}

func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, eraseLine)
	}
}
