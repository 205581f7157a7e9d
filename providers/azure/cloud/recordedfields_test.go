package cloud_test

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// renamed are the fields for which the original of Gardener has other names than the spec.
var renamed = []recordtest.Renamed{
	{Form: `\[\d+\]`, Name: ""}, // it does not name the data disk
	{Form: `\.id\|\.urn\|.*$`, Name: ""},
	{Form: `^properties\.zone\|.*$`, Name: "properties.zone"},
	{Form: `^tags\..*$`, Name: "tags"},
	{Form: `\.osDisk\.securityEncryptionType$`, Name: ".osDisk.managedDisk.securityProfile.securityEncryptionType"},
}

// TestRecordedFields: for a spec that both refuse, both name the same fields.
func TestRecordedFields(t *testing.T) {
	known := func(r recordtest.Record) error {
		_, err := spec.DecodeGardener(r.Spec)
		return err
	}
	all := recordtest.Read(t, recordings, provider.Gardener)
	recordtest.Fields(t, all, known, renamed, 60)
}
