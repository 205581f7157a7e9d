package cloud_test

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// renamed are the fields that the original of Gardener calls otherwise than the spec does.
var renamed = []recordtest.Renamed{
	{Form: `\[\d+\]`, Name: ""}, // it does not say which data disk
	{Form: `\.id\|\.urn\|.*$`, Name: ""},
	{Form: `^properties\.zone\|.*$`, Name: "properties.zone"},
	{Form: `^tags\..*$`, Name: "tags"},
	{Form: `\.osDisk\.securityEncryptionType$`, Name: ".osDisk.managedDisk.securityProfile.securityEncryptionType"},
}

// TestRecordedFields: of a spec that both refuse the same fields are named.
func TestRecordedFields(t *testing.T) {
	known := func(r recordtest.Record) error {
		_, err := spec.DecodeGardener(r.Spec)
		return err
	}
	all := recordtest.Read(t, recordings, provider.Gardener)
	recordtest.Fields(t, all, known, renamed, 60)
}
