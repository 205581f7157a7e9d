package ports

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

func TestTake(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var c, other Claims
	defer other.Release()
	if err := c.Take(listener.Addr().(*net.TCPAddr).Port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is listened on is claimed: %v", err)
	}
	port, err := c.TakeAny()
	if err != nil || port < first || port > last {
		t.Fatalf("claimed %d, %v", port, err)
	}
	for who, c := range map[string]*Claims{"the same": &c, "another": &other} {
		if err := c.Take(port); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s claims it once more: %v", who, err)
		}
	}
	c.Release()
	if err := other.Take(port); err != nil {
		t.Errorf("a released port cannot be claimed: %v", err)
	}
}

// Another process, this test's own program, claims the port; an environment variable names it.
func TestOtherProcessesSeeTheClaim(t *testing.T) {
	const told = "MILLWRIGHT_TEST_TAKES"
	if port := os.Getenv(told); port != "" {
		n, err := strconv.Atoi(port)
		if err == nil {
			err = new(Claims).Take(n)
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("port %s is claimed twice: %v", port, err)
		}
		return
	}
	port, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), told+"="+strconv.Itoa(port))
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFreeIsNeverGivenTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatal(address, "is given twice")
		}
		seen[address] = true
	}
}
