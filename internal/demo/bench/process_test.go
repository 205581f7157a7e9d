package bench

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20"
	cases := []struct {
		reason, raw string
		want        float64
		fails       bool
	}{
		{"user and system time, in hundredths", "77 (machine-control)" + tail, 2, false},
		{"a name may hold anything", "77 (a) S 9 (b)) " + tail, 2, false},
		{"cut off", "77 (a) S 1 2 3", 0, true},
		{"no numbers", "77 (a) S 1 2 3 4 5 6 7 8 9 10 x y 0", 0, true},
	}
	for _, c := range cases {
		got, err := readStat([]byte(c.raw))
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %g, %v; want %g", c.reason, got, err, c.want)
		}
	}
}

func TestReadStatus(t *testing.T) {
	got, err := readStatus([]byte("Name:\tx\nVmHWM:\t     20 kB\nVmRSS:\t      10 kB\nThreads:\t12\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"VmHWM": 20 << 10, "VmRSS": 10 << 10}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := readStatus([]byte("VmRSS:\tmuch kB\n")); err == nil {
		t.Error("a number that is none was read without an error")
	}
}

func TestProcessOfThisTest(t *testing.T) {
	if _, err := cpuSeconds(os.Getpid()); err != nil {
		t.Error(err)
	}
	memory, err := memoryOf(os.Getpid())
	if err != nil || memory["VmRSS"] == 0 || memory["VmHWM"] < memory["VmRSS"] {
		t.Errorf("memory %v, %v; want what is in use, and a peak that is no less", memory, err)
	}
}
