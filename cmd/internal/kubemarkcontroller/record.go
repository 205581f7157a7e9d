package kubemarkcontroller

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// record logs the provider calls, for tests that check the history of a run.
type record struct{ path string }

func (r *record) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.path, "call-log", "", "file to which each provider call and each reply is appended as a line of JSON, by any number of processes; for tests")
	_ = fs.MarkHidden("call-log")
}

// entry is one line: the start or the result of a call. If a call has no result, its process was killed.
type entry struct {
	At      time.Time `json:"at"`
	What    string    `json:"what"`
	ID      string    `json:"id"`
	Verb    string    `json:"verb"`
	Cluster string    `json:"cluster"`
	UID     string    `json:"uid,omitempty"`
	Machine string    `json:"machine,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// wrap returns p with a log of its calls. Without a path, it returns p.
func (r *record) wrap(p provider.Provider, clk clock.Clock) (provider.Provider, error) {
	if r.path == "" {
		return p, nil
	}
	// One write appends each line, so that the lines of several processes do not mix.
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of calls: %w", err)
	}
	write := func(e entry) {
		e.At = clk.Now()
		line, err := json.Marshal(e)
		if err == nil {
			_, err = file.Write(append(line, '\n'))
		}
		if err != nil {
			klog.ErrorS(err, "the log of calls misses a line", "call", e.ID)
		}
	}
	var calls atomic.Int64
	return decorate.Calls(p, func(ctx context.Context, c decorate.Call, do func(context.Context) error) error {
		e := entry{
			What: "call", ID: fmt.Sprintf("%d-%d", os.Getpid(), calls.Add(1)), Verb: c.Verb,
			Cluster: c.Class.Cluster, UID: c.Ref.UID, Machine: c.Ref.Name,
		}
		write(e)
		err := do(ctx)
		if e.What = "reply"; err != nil {
			e.Error = err.Error()
		}
		write(e)
		return err
	}), nil
}
