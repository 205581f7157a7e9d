package program

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// TestEveryAPIIsServed: the table of this process has the rows of the table of APIs.
func TestEveryAPIIsServed(t *testing.T) {
	var got []string
	for _, row := range apiTable() {
		got = append(got, row.api)
	}
	if !slices.Equal(got, apis.Names()) {
		t.Errorf("rows for %v, want %v", got, apis.Names())
	}
}
