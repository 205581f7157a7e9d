package nodemeta

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A quantity of a few letters may have a billion digits. Neither a kubelet, which can write the record on its
// node, nor the author of a class can block a worker with one.
func TestEnormousCapacityCostsNothing(t *testing.T) {
	const name = "x.io/v"
	cases := []struct {
		reason string
		record string
		class  string
		fails  bool
	}{
		{"in the record, too many digits to be decoded", `{"x.io/v":"12345678901234567890e999999999"}`, "2", false},
		{"in the record, too many digits to be compared", `{"x.io/v":"1e999999999"}`, "2", false},
		{"in the record, of something that goes", `{"y.io/z":"1e999999999"}`, "2", false},
		{"in the class", ``, "1e999999999", true},
		{"in the class, in another form", ``, "7e99999998", true},
		{"none", ``, "2E", false},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			want := threeWay(Want{Capacity: corev1.ResourceList{name: resource.MustParse(c.class)}})
			n := node("n", withCapacity("cpu", "4"), withCapacity(name, "1"), withAnnotation(capacityKey, c.record))
			done := make(chan error, 1)
			go func() {
				_, _, err := want.Plan(n)
				done <- err
			}()
			select {
			case err := <-done:
				if (err != nil) != c.fails {
					t.Errorf("got %v", err)
				}
			case <-time.After(2 * time.Second):
				t.Fatal("does not come to an end")
			}
		})
	}
}
