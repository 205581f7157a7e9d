package cloud

import (
	"regexp"

	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// words are those of KubeVirt.
var words = kubeapi.Words{Missing: "are KubeVirt and CDI installed there, and ready?", Field: specField}

// fields are those of virtual machines and the ones of specs that they are made of.
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

// specField is the field of specs for one of virtual machines, which stays as it is if no spec decides it.
func specField(path string) string {
	for _, f := range fields {
		if f.of.MatchString(path) {
			return f.of.ReplaceAllString(path, f.become)
		}
	}
	return path
}
