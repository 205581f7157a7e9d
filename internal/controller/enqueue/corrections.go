package enqueue

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// CorrectionPause is how long after a look for corrections the next one is due. A look that takes long, since many objects with many secrets
// wait, is followed by a longer pause, so that no more than a twentieth of the time is spent on it.
const (
	CorrectionPause = 2 * time.Second
	lookShare       = 20
)

// Mark stands for what an object is made from: of two that are equal the same would come.
type Mark struct {
	// Class is of its class.
	Class provider.ClientKey
	// Source is that of a session that was opened from the class ([provider.Traits]); empty: it takes nothing else.
	Source provider.ClientKey
}

// incomplete is the mark of a class of which something could not be read, for whatever reason.
const incomplete provider.ClientKey = "incomplete"

// MarkOf marks a class, as a resolver returned it.
func MarkOf(class dialect.Class, err error) Mark {
	if err != nil {
		return Mark{Class: incomplete}
	}
	bootable := []byte{0}
	if class.UserDataErr == nil {
		bootable[0] = 1
	}
	also := append([][]byte{class.UserData, bootable}, class.Fallbacks...)
	return Mark{Class: provider.KeyOf(class.Credentials, string(class.Spec), class.Absent, also...)}
}

// corrected reports whether something else may come of what an object is made from by now. What cannot be read corrects nothing.
func (m Mark) corrected(now Mark) bool {
	return now.Class != incomplete && now.Class != m.Class || now.Source != "" && m.Source != "" && now.Source != m.Source
}

// Waiters are the objects that wait because of what they are made from: credentials that are denied, user data that lacks a key, a secret that
// does not exist or may not be read. Nothing tells when that is corrected: roles let controllers read secrets by name, and not list them, so
// that they are not watched. While objects wait, and only then, what they are made from is read again every few seconds.
//
// Each has the mark of what it was made from when it began to wait. The zero value has none. It is safe for concurrent use.
type Waiters struct {
	mu    sync.Mutex
	marks map[types.NamespacedName]Mark
}

// Wait notes that an object waits, and forgets it for a mark that is zero.
func (w *Waiters) Wait(key types.NamespacedName, m Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m == (Mark{}) {
		delete(w.marks, key)
		return
	}
	if w.marks == nil {
		w.marks = map[types.NamespacedName]Mark{}
	}
	w.marks[key] = m
}

// Corrected are the objects that wait and are made from something else by now, which now tells; false where it cannot.
func (w *Waiters) Corrected(now func(key types.NamespacedName, was Mark) (Mark, bool)) (all []reconcile.Request) {
	for key, was := range w.all() {
		if is, known := now(key, was); known && was.corrected(is) {
			all = append(all, reconcile.Request{NamespacedName: key})
		}
	}
	slices.SortFunc(all, func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (w *Waiters) all() map[types.NamespacedName]Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.marks)
}

// Corrections adds the objects that look returns to a controller's queue, from time to time while the controller runs. The clock tells how long a
// look takes.
func Corrections(c clock.PassiveClock, look func(ctx context.Context) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		var next time.Time
		go wait.UntilWithContext(ctx, func(ctx context.Context) {
			began := c.Now()
			if began.Before(next) {
				return
			}
			for _, req := range look(ctx) {
				q.Add(req)
			}
			ended := c.Now()
			next = ended.Add(lookShare * ended.Sub(began))
		}, CorrectionPause)
		return nil
	})
}
