package kubemark_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// roleVariable makes this test binary run as another program.
const roleVariable = "KUBEMARK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(devplanetest.Main(m, devplanetest.Options{
			Components: []string{devplane.ControllerManager, devplane.Kwok}, NoCRDs: true,
		}))
	case "kubelet", "deaf-kubelet":
		playKubelet(role == "deaf-kubelet")
	case "creator":
		playCreator(os.Args[1])
	}
}

// playKubelet is a hollow program that does nothing. It writes a trace of each start, and ends on SIGTERM
// unless it is deaf.
func playKubelet(deaf bool) {
	dir := ""
	for _, arg := range os.Args {
		if root, ok := strings.CutPrefix(arg, "--root-dir="); ok {
			dir = root
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	trace := filepath.Join(dir, fmt.Sprintf("start-%d", os.Getpid()))
	if err := os.WriteFile(trace, []byte(strings.Join(os.Args, "\n")), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		<-end
		if !deaf {
			os.Exit(0)
		}
	}
}

const creatorMachines = 40

// playCreator creates the same machines as every other creator, all at once, and ends when all exist.
func playCreator(dir string) {
	ctx := context.Background()
	p, err := kubemark.New(kubemark.Config{Dir: dir})
	if err == nil {
		fmt.Println("ready")
		err = createAll(ctx, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func createAll(ctx context.Context, p *kubemark.Provider) error {
	s, err := p.Open(ctx, creatorClass())
	if err != nil {
		return err
	}
	errs := make([]error, creatorMachines)
	var wg sync.WaitGroup
	for n := range creatorMachines {
		wg.Go(func() { _, errs[n] = s.Create(ctx, creatorRef(n), provider.Want{}) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func creatorClass() provider.Class {
	return provider.Class{API: provider.Gardener, Cluster: "crash", Spec: []byte(`{"quota":1000}`)}
}

func creatorRef(n int) provider.Ref {
	return provider.Ref{UID: fmt.Sprintf("uid-%d", n), Name: fmt.Sprintf("m-%d", n)}
}
