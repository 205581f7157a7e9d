package kubemark_test

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/providers/kubemark"
)

// TestKilledWhileCreating kills pairs of provider processes that create the same machines, at random moments,
// and then lets one finish: there is exactly one complete instance per machine, and nothing else.
func TestKilledWhileCreating(t *testing.T) {
	const rounds = 15
	dir := t.TempDir()
	killed := 0
	for round := range rounds {
		first, second := creator(t, dir), creator(t, dir)
		// An undisturbed run takes some 20 ms. Later rounds find most of the machines created.
		time.Sleep(time.Duration(rand.IntN(15)) * time.Millisecond)
		for _, c := range []*exec.Cmd{first, second} {
			_ = c.Process.Kill() // it may have finished
			if err := c.Wait(); err != nil {
				killed++
			}
		}
		if round%3 == 2 {
			removeSome(t, dir)
		}
	}
	if killed == 0 {
		t.Fatal("no process was killed at work: the test shows nothing")
	}
	p, err := kubemark.New(kubemark.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := createAll(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	checkOneEach(t, p)
	t.Logf("%d of %d processes were killed at work", killed, 2*rounds)
}

// creator starts a process, and returns when it begins to create.
func creator(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], dir)
	c.Env = append(os.Environ(), roleVariable+"=creator")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// removeSome deletes some machines, so that later rounds create again.
func removeSome(t *testing.T, dir string) {
	t.Helper()
	p, err := kubemark.New(kubemark.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(t.Context(), creatorClass())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < creatorMachines; n += 2 {
		if done, err := s.Delete(t.Context(), creatorRef(n), nil); err != nil || !done {
			t.Fatalf("delete of machine %d: done %t, error %v", n, done, err)
		}
	}
}

func checkOneEach(t *testing.T, p *kubemark.Provider) {
	t.Helper()
	all, err := p.Console().Instances(t.Context(), creatorClass().Cluster)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, i := range all {
		count[i.UID]++
	}
	for n := range creatorMachines {
		if uid := creatorRef(n).UID; count[uid] != 1 {
			t.Errorf("machine %s has %d instances", uid, count[uid])
		}
	}
	dependants, err := p.Console().Dependants(creatorClass().Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != creatorMachines || dependants != 2*creatorMachines {
		t.Errorf("%d instances and %d dependants for %d machines", len(all), dependants, creatorMachines)
	}
}
