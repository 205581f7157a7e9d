package cloud

import (
	"regexp"

	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// words are the words of KubeVirt for errors.
var words = kubeapi.Words{Missing: "are KubeVirt and CDI installed there, and ready?", Field: specField}

// fields maps the fields of virtual machines to those of specs.
var fields = []struct {
	of     *regexp.Regexp
	become string
}{
	{regexp.MustCompile(`^spec\.dataVolumeTemplates\[0](\.spec)?`), "rootVolume"},
	{regexp.MustCompile(`^spec\.dataVolumeTemplates.*`), "additionalVolumes"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.devices\.interfaces.*`), "networks"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.devices\.disks.*`), "devices.disks"},
	{regexp.MustCompile(`^spec\.template\.spec\.domain\.`), ""},
	{regexp.MustCompile(`^spec\.template\.spec\.networks.*`), "networks"},
	{regexp.MustCompile(`^spec\.template\.spec\.volumes.*`), "additionalVolumes"},
	{regexp.MustCompile(`^spec\.template\.spec\.nodeSelector.*`), "zone"},
	{regexp.MustCompile(`^spec\.template\.spec\.accessCredentials.*`), "sshKeys"},
	{regexp.MustCompile(`^spec\.template\.spec\.(dns)`), "$1"},
	{regexp.MustCompile(`^(spec\.template\.)?metadata\.labels`), "tags"},
}

// specField is the spec's field for a field of virtual machines, or else the same path.
func specField(path string) string {
	for _, f := range fields {
		if f.of.MatchString(path) {
			return f.of.ReplaceAllString(path, f.become)
		}
	}
	return path
}
