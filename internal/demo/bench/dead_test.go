package bench

import (
	"bytes"
	"testing"
)

func TestChecksHaveTheTimeoutThatIsReplaced(t *testing.T) {
	for api := range kinds {
		s, err := shapeOf(api, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(s.Check, []byte(patient)); n != 2 {
			t.Errorf("%s: %d conditions have the timeout %s", api, n, patient)
		}
	}
}
