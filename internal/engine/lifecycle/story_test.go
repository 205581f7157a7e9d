package lifecycle_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stories are whole lives. Their results are checked in addition to the texts in the golden files.
var stories = map[string]struct {
	reason string
	tell   func(*life)
	// want is checked when the story is over.
	want func(*life) error
}{
	"create-run-delete": {
		reason: "a life without trouble buys one instance and leaves nothing behind",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).delete()
			l.deletions = 2
			d := l.pass()
			for d.Step == lifecycle.Await {
				l.after(d.After)
				d = l.pass()
			}
		},
		want: nothingLeft,
	},
	"create-exhausted": {
		reason: "quota is retried on a slow clock; who has a time to join gives up in time for a replacement",
		tell: func(l *life) {
			l.createErr = errExhausted
			l.tell("the machine is created; the cloud is full")
			for range 4 {
				d := l.pass()
				if d.Step != lifecycle.Await {
					return
				}
				l.after(d.After)
			}
		},
		want: func(l *life) error { return unless(l.created == 0, "an instance was made") },
	},
	"lost-reply": {
		reason: "the next pass finds what the lost reply would have told, and creates nothing",
		tell: func(l *life) {
			l.tell("the machine is created; the cloud accepts, and its reply is lost")
			l.createErr, l.replyLost = errTransient, true
			d := l.pass()
			l.createErr = nil
			l.after(d.After)
			l.pass()
			l.after(8 * time.Second).runs()
			l.pass()
		},
		want: func(l *life) error { return unless(l.created == 1, "not exactly one instance was made") },
	},
	"killed-after-create": {
		reason: "a process that does not know of the instance, which no listing shows yet, asks for it again and is given the same one",
		tell: func(l *life) {
			l.tell("the machine is created")
			l.killed = true
			l.pass()
			l.behind = true
			l.after(2 * time.Second).tell("the next process begins; listings are behind")
			l.pass()
			l.after(8 * time.Second).runs()
			l.pass()
		},
		want: func(l *life) error { return unless(l.created == 1, "not exactly one instance was made") },
	},
	"accepted-then-exhausted": {
		reason: "an instance that was accepted and never came says so at once; no other is made for the machine, and its end is as any",
		tell: func(l *life) {
			l.tell("the machine is created")
			l.pass()
			l.after(8*time.Second).givesUp(provider.Stopped, errExhausted)
			for d := l.pass(); d.Step == lifecycle.Await; d = l.pass() {
				l.after(d.After)
			}
			l.after(time.Minute).delete()
			l.pass()
		},
		want: nothingLeft,
	},
	"accepted-then-terminated": {
		reason: "the same where nothing is left of the instance but the record that tells why",
		tell: func(l *life) {
			l.tell("the machine is created")
			l.pass()
			l.after(8*time.Second).givesUp(provider.Terminated, errExhausted)
			for d := l.pass(); d.Step == lifecycle.Await; d = l.pass() {
				l.after(d.After)
			}
			l.after(time.Minute).delete()
			l.pass()
		},
		want: nothingLeft,
	},
	"accepted-then-mended": {
		reason: "what the infrastructure may still mend is looked at again and again",
		tell: func(l *life) {
			l.tell("the machine is created")
			l.pass()
			l.after(8*time.Second).givesUp(provider.Stopped, provider.Errorf(provider.Conflict, "the host is being restarted"))
			d := l.pass()
			l.after(d.After)
			l.pass()
			l.instance.Fault = nil
			l.after(time.Minute).runs()
			l.pass()
			l.after(30 * time.Second).joins()
			l.pass()
		},
		want: func(l *life) error {
			return errors.Join(unless(l.created == 1, "another instance was made"), unless(l.m.Stage == lifecycle.StageRunning, "it does not run"))
		},
	},
	"join-timeout": {
		reason: "an instance whose node never joins is given up by one API and waited for by the other",
		tell: func(l *life) {
			l.tell("the machine is created")
			l.pass()
			l.after(8 * time.Second).runs()
			l.pass()
			l.after(20*time.Minute - 7*time.Second).tell("no node has joined")
			l.pass()
			l.pass()
		},
		want: func(l *life) error { return unless(l.instance != nil, "the instance was removed without a deletion") },
	},
	"instance-vanishes": {
		reason: "a machine that had an instance does not get another",
		tell: func(l *life) {
			l.readLag = 10 * time.Second
			l.settle()
			l.after(time.Hour).tell("somebody removes the instance; listings run 10s behind")
			l.instance = nil
			d := l.pass()
			l.after(max(d.After, 10*time.Second))
			l.pass()
			l.after(time.Minute).reports(corev1.ConditionUnknown)
			d = l.pass()
			l.after(d.After)
			l.pass()
		},
		want: func(l *life) error {
			return errors.Join(unless(l.created == 1, "another instance was made"), unless(l.m.Stage == lifecycle.StageFailed, "it is not Failed"))
		},
	},
	"node-deleted": {
		reason: "one API replaces the machine of a deleted node, the other leaves that to a health check",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).tell("a person deletes the node")
			l.node, l.watched = nil, l.now
			l.pass()
			l.pass()
		},
		want: func(l *life) error { return unless(l.created == 1, "another instance was made") },
	},
	"hooks": {
		reason: "each hook stops the step it names until its owner takes it away",
		tell: func(l *life) {
			l.m.Deletion.PreDrain, l.m.Deletion.PreTerminate = etcdHook, []lifecycle.Hook{{Name: "Backup", Owner: "backup-operator"}}
			l.settle()
			l.after(time.Hour).delete()
			l.pass()
			l.m.Deletion.PreDrain = nil
			l.after(time.Minute).tell("the pre-drain hook is taken away")
			l.pass()
			l.m.Deletion.PreTerminate = nil
			l.after(time.Minute).tell("the pre-terminate hook is taken away")
			l.pass()
		},
		want: nothingLeft,
	},
	"drain-blocked": {
		reason: "a budget holds the drain; one API waits for ever, the other loses patience after its drain timeout",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).delete()
			l.pods = []string{"db/db-0"}
			l.pass()
			l.after(2*time.Hour + time.Second).tell("two hours later")
			l.pass()
			l.pods = nil
			l.after(time.Second).tell("the pod is gone")
			l.pass()
		},
		want: nothingLeft,
	},
	"class-missing-at-deletion": {
		reason: "an instance that cannot be reached keeps its object, until somebody takes it upon himself",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).delete()
			l.classErr = errors.New("spec.class.name: no machineclass pool-a")
			d := l.pass()
			l.after(d.After)
			l.pass()
			l.m.Deletion.Abandon = true
			l.after(time.Minute).tell("the machine is marked: abandon the instance")
			l.pass()
		},
		want: func(l *life) error {
			return errors.Join(unless(!l.m.HasFinalizer, "it is still held"), unless(l.node == nil, "the node is left"), unless(l.instance != nil, "the story is about an instance out of reach"))
		},
	},
	"update-in-place": {
		reason: "one API updates the node and keeps the instance, through a restart and a second try; the other does not hear of it",
		tell: func(l *life) {
			l.settle()
			l.pods = []string{"db/db-0"}
			l.after(time.Hour).asks("the node is labelled: candidate", func(u *inplace.Node) { u.Request = inplace.RequestCandidate })
			l.pass()
			l.after(time.Minute).asks("the node is labelled: selected", func(u *inplace.Node) { u.Request = inplace.RequestSelected })
			l.pass()
			l.pods = nil
			l.after(time.Minute).tell("the pod is gone")
			l.pass()
			l.after(time.Minute).reports(corev1.ConditionUnknown)
			l.pass()
			l.after(12 * time.Minute).reports(corev1.ConditionTrue)
			l.pass()
			l.after(time.Minute).asks("the agent answers: failed", func(u *inplace.Node) { u.Answer, u.Detail = inplace.AnswerFailed, "no space left" })
			l.pass()
			l.after(time.Minute).asks("somebody makes room and takes the answer away", func(u *inplace.Node) { u.Answer, u.Detail = inplace.AnswerNone, "" })
			l.pass()
			l.after(time.Minute).asks("the agent answers: done", func(u *inplace.Node) { u.Answer = inplace.AnswerDone })
			d := l.pass()
			l.after(d.After)
			l.pass()
		},
		want: func(l *life) error {
			return errors.Join(unless(l.created == 1 && l.instance != nil, "the instance was replaced"), unless(l.m.Stage == lifecycle.StageRunning, "it does not run again"))
		},
	},
	"update-never-answered": {
		reason: "an agent that stays silent costs a node its place, after the time for updates and the time to mend it",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).asks("the node is labelled: candidate, selected", func(u *inplace.Node) { u.Request = inplace.RequestSelected })
			for d := l.pass(); d.Step == lifecycle.Await && d.After > 0; d = l.pass() {
				l.after(d.After)
			}
			l.after(time.Minute).tell("nobody replaces it")
			l.pass()
			l.asks("somebody takes the requests off the node", func(u *inplace.Node) { u.Request = inplace.RequestNone })
			l.pass()
		},
		want: func(l *life) error { return unless(l.m.Stage == lifecycle.StageRunning, "it does not run again") },
	},
	"unreachable-cluster": {
		reason: "a node that goes silent is Lost for a while, and Running again when it comes back",
		tell: func(l *life) {
			l.settle()
			l.after(time.Hour).reports(corev1.ConditionUnknown)
			l.pass()
			l.after(4 * time.Minute).reports(corev1.ConditionTrue)
			l.pass()
		},
		want: func(l *life) error { return unless(l.m.Stage == lifecycle.StageRunning, "it does not run again") },
	},
}

func unless(ok bool, what string) error {
	if ok {
		return nil
	}
	return errors.New(what)
}

func nothingLeft(l *life) error {
	return errors.Join(unless(l.created == 1, "not exactly one instance was made"), unless(l.instance == nil, "the instance is left"),
		unless(l.node == nil, "the node is left"), unless(!l.m.HasFinalizer, "the object is still held"))
}

// TestStories compares whole lives with testdata/<story>.golden; -update writes
// those.
func TestStories(t *testing.T) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			text.WriteString("# " + s.reason + "\n")
			for _, by := range []struct {
				name   string
				policy lifecycle.Policy
			}{{"machine.openshift.io", patient}, {"machine.sapcloud.io", brisk}} {
				l := newLife(by.policy)
				s.tell(l)
				if err := s.want(l); err != nil {
					t.Errorf("%s: %s: %v\n%s", by.name, s.reason, err, l.story.String())
				}
				text.WriteString("\n## by the rules of " + by.name + "\n" + l.story.String())
			}
			compare(t, filepath.Join("testdata", name+".golden"), text.String())
		})
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got)\n%s", file, d)
	}
}
