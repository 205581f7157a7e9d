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

// CorrectionPause is the least pause between two searches for corrections. A long search, with many objects
// and many secrets, is followed by a longer pause, so that searching takes no more than a twentieth of the
// time.
const (
	CorrectionPause = 2 * time.Second
	lookShare       = 20
)

// Mark stands for the class and credentials that an object is created from: equal marks would lead to the
// same result.
type Mark struct {
	// Class is the mark of its class.
	Class provider.ClientKey
	// Source is the mark of a session that was opened from the class ([provider.Traits]); empty: the
	// session reads nothing else.
	Source provider.ClientKey
}

// incomplete is the mark of a class that could not be read completely, for any reason.
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

// corrected reports whether the class or credentials of an object have changed since it was marked. An
// unreadable class corrects nothing.
func (m Mark) corrected(now Mark) bool {
	return now.Class != incomplete && now.Class != m.Class || now.Source != "" && m.Source != "" && now.Source != m.Source
}

// Waiters are the objects that wait because of their class or secrets: credentials are denied, user data
// lacks a key, or a secret does not exist or may not be read. No watch reports the correction: roles let
// controllers get secrets by name, but not list or watch them. While objects wait, and only then, their
// classes and secrets are read again every few seconds.
//
// Each waiter has the mark from the time when it began to wait. The zero value has no waiters. It is safe
// for concurrent use.
type Waiters struct {
	mu    sync.Mutex
	marks map[types.NamespacedName]Mark
}

// Wait notes that an object waits; a zero mark removes the object.
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

// Corrected are the waiting objects whose mark has changed. The function now returns the present mark;
// false if it is unknown.
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

// Corrections adds the objects that look returns to a controller's queue, from time to time while the
// controller runs. The clock measures how long a search takes.
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
