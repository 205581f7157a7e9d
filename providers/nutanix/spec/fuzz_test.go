package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

// judge checks what is true of any spec. Default may fill in a secret that is null.
func judge(t rapid.TB, raw []byte) {
	admissiontest.Holds(t, spec.Admitter{}, admissiontest.Admission(raw), func(path string, was any) bool {
		return was == nil && (strings.EqualFold(path, ".userDataSecret") || strings.EqualFold(path, ".credentialsSecret"))
	})
}

func TestAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(t, spec.Admitter{}.SpecShape(),
			"uuid", "name", "Name", "DeviceID", "Disk", "CDRom", "SCSI", "IDE", "Flash", "UEFI", "1Gi", "2Gi", "1e30", "-1", strings.Repeat("x", 70)))
		if err != nil {
			t.Fatal(err)
		}
		judge(t, raw)
	})
}

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		minimal, whole, ``, `null`, `[]`, `{}`, `{"memorySize":"1e999999999"}`, `{"memorySize":1E+99999999}`, `{"dataDisks":[{"diskSize":"1Gi","storageConfig":{"storageContainer":{}}}]}`,
		attached("CDRom", "IDE"), subnetList(33), `{"UserDataSecret":null,"a":"\ud83d\ude00\u007f"}`, `{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !utf8.ValidString(raw) {
			return // no API server sends it
		}
		at := time.Now()
		judge(t, []byte(raw))
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
