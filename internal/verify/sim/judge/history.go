package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Author is the author of a write.
type Author struct {
	// Role is the controller; empty for users, nodes and the cluster itself.
	Role    string
	Process int
	// API is the number of the author's API.
	API int
	// Deposed: another process had become the leader before the write. Late: the write arrived long after the process had
	// sent it.
	Deposed, Late bool
}

// change is one write to an object.
type change struct {
	n   int64
	by  Author
	at  time.Time
	now client.Object
	was client.Object
}

// changesOnly reports whether the object existed before and after the change, and its deletion was not requested.
func (c change) changesOnly() bool {
	return c.was != nil && c.now != nil && (c.was.GetDeletionTimestamp() == nil) == (c.now.GetDeletionTimestamp() == nil)
}

// Pass is the knowledge of a pass when it began.
type Pass struct {
	By Author
	// At is the beginning of the pass, Born the start of its process, Skew the error of the process's clock.
	At, Born time.Time
	Skew     time.Duration
	// Key is the key of the object that the pass is for.
	Key client.ObjectKey

	began int64
	// sent bounds the known own writes, for a late write; zero: all are known. now is the number of the last change before the
	// write that is being judged.
	sent, now int64
	seen      map[types.UID]client.Object
}

// Begin begins a pass whose caches show the given objects.
func (j *Judge) Begin(p Pass, shown []client.Object) *Pass {
	p.began, p.seen = j.seq, make(map[types.UID]client.Object, len(shown))
	for _, o := range shown {
		p.seen[o.GetUID()] = o
	}
	return &p
}

// Writes returns the pass as the judge's basis for its present write. deposed: another process has become the leader. sent
// is the value of [Judge.Changes] when a late write was sent, zero for other writes.
func (j *Judge) Writes(p *Pass, deposed bool, sent int64) *Pass {
	out := *p
	out.now, out.sent, out.By.Late, out.By.Deposed = j.seq, sent, sent != 0, deposed
	return &out
}

// looked is the number of the last change before the beginning of the pass.
func (p *Pass) looked() int64 { return max(1, p.began) }

// Changes is the number of changes.
func (j *Judge) Changes() int64 { return j.seq }

// Wrote records that a pass, or the world itself (nil), created an object (was is nil), changed it, or deleted it (now is
// nil).
func (j *Judge) Wrote(p *Pass, was, now client.Object) {
	by, o := Author{}, now
	if p != nil {
		by = p.By
	}
	if o == nil {
		o = was
	}
	j.judgeForeignFinalizer(p, was, now)
	j.seq++
	if len(j.log[o.GetUID()]) == 0 && j.isMachine(o) {
		j.known = append(j.known, o.GetUID())
	}
	c := change{n: j.seq, by: by, at: j.Now(), was: was, now: now}
	j.log[o.GetUID()] = append(j.log[o.GetUID()], c)
	if j.isSet(o) {
		j.sizes(p, was, now)
	}
	switch o := o.(type) {
	case *corev1.Pod:
		if o.DeletionTimestamp != nil {
			c.at = slices.MinFunc([]time.Time{c.at, j.overAt(o)}, time.Time.Compare)
		}
		if now == nil && len(claims(o)) > 0 {
			j.departed = append(j.departed, c)
		}
	default:
		j.judgeSize(now)
		if now != nil && owned(now) {
			j.note(now)
		}
	}
}

// overAt is the end of a terminating pod's grace period: its deletion timestamp, or the time at which that timestamp was
// written, which may be later if the grace period was shortened.
func (j *Judge) overAt(pod *corev1.Pod) time.Time {
	end := pod.GetDeletionTimestamp()
	since := j.first(pod.UID, func(o client.Object) bool { return end.Equal(o.GetDeletionTimestamp()) })
	return slices.MaxFunc([]time.Time{end.Time, since}, time.Time.Compare)
}

// window says at which moment a pass looked.
type window bool

const (
	// atBegin: the pass read, or should have read, the API server itself.
	atBegin window = false
	// bySight: the pass used its caches.
	bySight window = true
)

// knows reports whether the pass knows a change: its own process wrote it, or a former leader created or deleted an object,
// which a new leader must read from the API server. No process knows when a change without a reply arrives.
func (p *Pass) knows(c change) bool {
	switch {
	case p.sent != 0 && c.n > p.sent, c.by.Role != p.By.Role, c.by.API != p.By.API:
		return false
	case c.by.Process == p.By.Process:
		return !c.by.Late || c.n <= p.began || !c.changesOnly()
	}
	came := c.was == nil
	went := !came && c.was.GetDeletionTimestamp() == nil && (c.now == nil || c.now.GetDeletionTimestamp() != nil)
	return (came || went || c.now == nil) && !c.by.Deposed && !p.By.Deposed
}

// since are the states of the object with the UID since the pass looked: its state at that moment, and its state after
// each change that the pass does not know. Nil means that the object does not exist.
func (j *Judge) since(uid types.UID, p *Pass, w window) []client.Object {
	log := j.log[uid]
	known := -1
	for i, c := range log {
		if p.now != 0 && c.n > p.now {
			log = log[:i]
			break
		}
		looked := c.n <= p.began
		if w == bySight {
			looked = c.now != nil && c.now == p.seen[uid]
		}
		if looked || p.knows(c) {
			known = i
		}
	}
	if w == bySight && known < 0 && len(log) > 0 && log[len(log)-1].now == nil && log[len(log)-1].n <= p.began {
		return []client.Object{nil} // the cache shows that it does not exist
	}
	var out []client.Object
	if known < 0 {
		out = append(out, nil)
	} else {
		out = append(out, log[known].now)
	}
	for _, c := range log[known+1:] {
		out = append(out, c.now)
	}
	return out
}

// states are the same states, read by a function, without those in which the object did not exist.
func states[T any](j *Judge, uid types.UID, p *Pass, w window, read func(client.Object) T) (out []T, always bool) {
	always = true
	for _, o := range j.since(uid, p, w) {
		if o == nil {
			always = false
			continue
		}
		out = append(out, read(o))
	}
	return out, always
}

// ever reports whether the machine was in such a state at any time since the pass looked.
func (j *Judge) ever(uid types.UID, p *Pass, w window, is func(machine) bool) bool {
	all, _ := states(j, uid, p, w, readMachine)
	return slices.ContainsFunc(all, is)
}

// always reports whether the machine existed and was in such a state all the time since the pass looked.
func (j *Judge) always(uid types.UID, p *Pass, w window, is func(machine) bool) bool {
	all, there := states(j, uid, p, w, readMachine)
	return there && !slices.ContainsFunc(all, func(m machine) bool { return !is(m) })
}

// spread is the minimum and the maximum of a number over some states.
func spread[T any](all []T, of func(T) int) (least, most int) {
	for i, s := range all {
		n := of(s)
		if i == 0 {
			least, most = n, n
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// first is the time since which the object with the UID has been in such a state; zero if it is not in it.
func (j *Judge) first(uid types.UID, is func(client.Object) bool) (at time.Time) {
	for _, c := range j.log[uid] {
		switch {
		case c.now == nil || !is(c.now):
			at = time.Time{}
		case at.IsZero():
			at = c.at
		}
	}
	return at
}

// born is the number of the first change to the object with the UID.
func (j *Judge) born(uid types.UID) int64 {
	if log := j.log[uid]; len(log) > 0 {
		return log[0].n
	}
	return 0
}

// lost is the time at which the machine's object was deleted although the machine controller had not released it; zero if
// that never happened.
func (j *Judge) lost(uid string) time.Time {
	log := j.log[types.UID(uid)]
	if len(log) == 0 {
		return time.Time{}
	}
	if last := log[len(log)-1]; last.now == nil && last.by.Role != Machines && !j.releasedBefore(types.UID(uid)) {
		return last.at
	}
	return time.Time{}
}

// lostFor is the time since which a machine that failed because of its lost node has been lost. This is the time of the
// write that recorded the loss. If that write came late, or a restore recreated the machine, it is the time in the
// machine's own status, but not before its node became unready.
func (j *Judge) lostFor(m machine) time.Time {
	written := j.first(m.GetUID(), func(o client.Object) bool {
		now := readMachine(o)
		return now.lost || now.failed
	})
	n := j.node(m.node)
	if n == nil || ready(n) {
		return written
	}
	unready := j.first(n.UID, func(o client.Object) bool { return !ready(o.(*corev1.Node)) })
	borneOut := slices.MaxFunc([]time.Time{unready, m.lostSince}, time.Time.Compare)
	return slices.MinFunc([]time.Time{written, borneOut}, time.Time.Compare)
}

// made is the creation time of the object with the UID.
func (j *Judge) made(uid types.UID) time.Time {
	if log := j.log[uid]; len(log) > 0 {
		return log[0].at
	}
	return time.Time{}
}
