package cloud

import (
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
)

// TestTagMadeAnew: a tag value that was deleted and created again under its name has another ID; the cached
// one must expire soon.
func TestTagMadeAnew(t *testing.T) {
	values := gce.Sample().TagValues
	b := newBench(t, func(o *gce.Options) { o.Inventory.TagValues = values })
	s := b.open(with(b.class(provider.OpenShift, "prod"), `"tags":`, teamTag[1:len(teamTag)-1]+`, "tags":`))
	b.create(s, ref("first"), provider.Want{})
	b.create(s, ref("second"), provider.Want{})
	if n := b.server.Counts()["tagValues.getNamespaced"]; n != 1 {
		t.Errorf("one tag is looked up %d times for two instances", n)
	}
	values[0].ID = "tagValues/281479449999"
	b.clock.Advance(remembered)
	b.create(s, ref("third"), provider.Want{})
}
