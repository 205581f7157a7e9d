package status

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// A record is stored as a ConfigMap in the machine's namespace.
const (
	// Label, with LabelValue, identifies records.
	Label      = millwright.Evidence
	LabelValue = "machine"
	// MachineAnnotation is the machine's "<plural>.<group>/<name>", ExpiresAnnotation the time until which
	// the record is kept (RFC 3339). A user may change the latter.
	MachineAnnotation = millwright.EvidenceOf
	ExpiresAnnotation = millwright.EvidenceExpires
	// Key is the key of the record.
	Key = "evidence.json"

	namePrefix = "evidence-"
	// longestName leaves room for prefix and hash in the 253 bytes of a name.
	longestName = 200
)

// StoredName returns the name of a machine's record: always the same, so that the record is taken once.
func StoredName(name, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	name = strings.TrimRight(name[:min(len(name), longestName)], ".-")
	return namePrefix + name + "-" + hex.EncodeToString(sum[:4])
}

// Of returns the name of a machine for [MachineAnnotation].
func Of(api, name string) string { return "machines." + api + "/" + name }

// Stored returns the object that stores a record, encoded as raw, until a time.
func Stored(r postmortem.Record, raw []byte, until time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Namespace, Name: StoredName(r.Name, r.UID),
			Labels: map[string]string{Label: LabelValue},
			Annotations: map[string]string{
				MachineAnnotation: Of(r.API, r.Name), ExpiresAnnotation: until.UTC().Format(time.RFC3339),
			},
		},
		Data: map[string]string{Key: string(raw)},
	}
}

// Kept returns the fields that decide how long c is kept.
func Kept(c *corev1.ConfigMap) postmortem.Kept {
	k := postmortem.Kept{Name: c.Name, Taken: c.CreationTimestamp.Time}
	k.Expires, _ = millwright.Read(c.Annotations).Time(ExpiresAnnotation)
	return k
}
