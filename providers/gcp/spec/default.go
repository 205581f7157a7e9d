package spec

import (
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

const arm64 = "arm64"

// What a spec has where it does not say.
const (
	typeAMD64 = "n1-standard-4"
	typeARM64 = "t2a-standard-4"

	diskType   = "pd-standard"
	diskSizeGB = 128
	imageAMD64 = "projects/rhcos-cloud/global/images/rhcos-414-92-202307070025-0-gcp-x86-64"
	imageARM64 = "projects/rhcos-cloud/global/images/rhcos-414-92-202307070025-0-gcp-aarch64"

	userDataSecret    = "worker-user-data"
	credentialsSecret = "gcp-cloud-credentials"
)

// Default fills in the machine type, the network, the disks, the number of GPUs, the tags and the secrets. A secret that is given
// without a name stays as it is. Names that are made of the cluster's are left out where that is not known.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	s, document, err := decode(a.Spec)
	if err != nil {
		return nil, err
	}
	if s.MachineType == "" {
		document.Set("machineType", byArchitecture(a.Platform, typeAMD64, typeARM64))
	}
	if id := a.Platform.ID; id != "" && len(s.NetworkInterfaces) == 0 {
		document.Set("networkInterfaces", []any{map[string]any{"network": id + "-network", "subnetwork": id + "-worker-subnet"}})
	}
	defaultDisks(s, document, byArchitecture(a.Platform, imageAMD64, imageARM64))
	if len(s.GPUs) > 0 && s.GPUs[0].Count == 0 {
		document.Entry("gpus", 0).Set("count", 1)
	}
	if id := a.Platform.ID; id != "" && len(s.Tags) == 0 {
		document.Set("tags", []string{id + "-worker"})
	}
	if s.UserDataSecret == nil {
		document.In("userDataSecret").Set("name", userDataSecret)
	}
	if s.CredentialsSecret == nil {
		document.In("credentialsSecret").Set("name", credentialsSecret)
	}
	return document.JSON()
}

// defaultDisks gives a spec without disks one to start from, every disk of others the type that it lacks, and a boot disk the image. A
// further disk without an image stays empty.
func defaultDisks(s *machineSpec, document *lenient.Document, image string) {
	if len(s.Disks) == 0 {
		document.Set("disks", []any{map[string]any{
			"autoDelete": true, "boot": true, "sizeGb": diskSizeGB, "type": diskType, "image": image,
		}})
	}
	for i, disk := range s.Disks {
		if disk == nil || disk.Type == "" {
			document.Entry("disks", i).Set("type", diskType)
		}
		if disk != nil && disk.Boot && disk.Image == "" {
			document.Entry("disks", i).Set("image", image)
		}
	}
}

// byArchitecture chooses for the cluster's default architecture: for amd64 too where that is neither, or not known.
func byArchitecture(p admit.Platform, amd, arm string) string {
	if p.Architecture == arm64 {
		return arm
	}
	return amd
}
