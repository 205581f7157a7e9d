package cloud

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// misnamed are the fields with other names in Gardener's original than in the spec.
var misnamed = []recordtest.Renamed{
	{Form: `^networkInterfaces(\[\d+\]\.key)$`, Name: "metadata$1"},
	{Form: `^networkInterfaces\.networkInterfaces$`, Name: "networkInterfaces"},
	{Form: `\.ipv6AccessType$`, Name: ".ipv6accessType"},
	{Form: `^(disks\[\d+\])\.(kmsKeyName|kmsKeyServiceAccount)$`, Name: "$1.encryption.$2"},
}

// TestRecordedFields: for a spec that both refuse, both name the same fields.
func TestRecordedFields(t *testing.T) {
	all := recordtest.Read(t, recordings, provider.Gardener)
	recordtest.Fields(t, all, func(r recordtest.Record) error {
		_, err := decode(provider.Gardener, r.Spec)
		return err
	}, misnamed, 40)
}
