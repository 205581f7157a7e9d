package bench

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestRelay: a relay delivers bytes completely and in order, not before the delay is over, and delivers together what was sent
// together.
func TestRelay(t *testing.T) {
	const delay, lines = 50 * time.Millisecond, 100
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		c, err := echo.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for s := bufio.NewScanner(c); s.Scan(); {
			fmt.Fprintln(c, s.Text())
		}
	}()
	r, err := startRelay(t.Context(), echo.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range lines {
		fmt.Fprintln(c, "line", i)
	}
	answers := bufio.NewScanner(c)
	for i := range lines {
		if !answers.Scan() || answers.Text() != fmt.Sprint("line ", i) {
			t.Fatalf("%q, %v, want line %d", answers.Text(), answers.Err(), i)
		}
		if took := time.Since(began); took < 2*delay {
			t.Fatalf("line %d came back after %s", i, took)
		}
	}
	c.Close()
	if took := time.Since(began); took > lines/2*delay {
		t.Errorf("%d lines that were sent at once took %s", lines, took)
	}
}
