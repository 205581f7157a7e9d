package hollow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

var _ cloud.ConsoleReader = &Body{}

// consoleLines is the number of log lines in a console.
const consoleLines = 20

// Console returns the last 20 lines of the process's output: at most limit bytes, in whole lines unless one
// line alone is longer.
func (b *Body) Console(r cloud.Record, limit int) (string, error) {
	f, err := os.Open(filepath.Join(b.dir(r), logFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("open the log of instance %s: %w", r.ID, err)
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("measure the log of instance %s: %w", r.ID, err)
	}
	// One more byte shows whether the first line is whole.
	from := max(0, size-int64(max(limit, 0))-1)
	text, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return "", fmt.Errorf("read the log of instance %s: %w", r.ID, err)
	}
	if from > 0 || len(text) > limit {
		text = wholeLines(text)
	}
	return string(lastLines(text, consoleLines)), nil
}

// wholeLines removes the first byte, and the rest of its line unless that is the whole text.
func wholeLines(text []byte) []byte {
	if _, rest, found := bytes.Cut(text, []byte("\n")); found && len(rest) > 0 {
		return rest
	}
	return text[min(1, len(text)):]
}

// lastLines is the end of text from the nth last line on.
func lastLines(text []byte, n int) []byte {
	end := len(bytes.TrimSuffix(text, []byte("\n")))
	for i := end - 1; i >= 0; i-- {
		if text[i] != '\n' {
			continue
		}
		if n--; n == 0 {
			return text[i+1:]
		}
	}
	return text
}
