package admission_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(_, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, args)
}

func (l *lines) with(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.text {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// TestATakenPortStopsNobody: it is reported once, and the webhooks are served once the port is free.
func TestATakenPortStopsNobody(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mutating, _, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	var log lines
	s := admission.NewServer(admission.ServerOptions{
		Host: "127.0.0.1", Port: taken.Addr().(*net.TCPAddr).Port, CertDir: t.TempDir(),
		Secret: client.ObjectKey{Namespace: "ns", Name: "cert"}, Period: 10 * time.Millisecond,
		Client: fake.NewClientBuilder().WithScheme(run.Scheme()).WithObjects(mutating[0]).Build(), Objects: dynamicClient(),
		Clock: clock.RealClock{}, Log: funcr.New(log.add, funcr.Options{}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	wait(t, "the taken port is not told", func() bool { return log.with("Cannot serve webhooks") > 0 })
	time.Sleep(100 * time.Millisecond)
	if n := log.with("Cannot serve webhooks"); n != 1 {
		t.Errorf("the taken port is told %d times", n)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	wait(t, "nobody serves the port that is free again", func() bool {
		c, err := tls.Dial("tcp", taken.Addr().String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whether it is served is all that is asked
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func wait(t *testing.T, complaint string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !met(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(complaint)
		}
	}
}
