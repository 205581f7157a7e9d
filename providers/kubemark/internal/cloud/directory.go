package cloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Directory is a store of small JSON files, shared by all processes that open the same directory:
//
//	clusters/<cluster>/name                          the cluster's name
//	clusters/<cluster>/machines/<key>/<id>.json      one instance
//	clusters/<cluster>/nic/<node>                    dependants: dangling links
//	clusters/<cluster>/disk/<id>                     whose target is JSON
//	account                                          see [Store.Account]
//	password                                         see [Store.Password]
//	locks/<stripe>                                   one lock for many keys
//
// Files appear and change atomically, by rename. They are not synced to disk: a crash of the host may lose
// the simulated cloud.
type Directory struct{ root string }

// NewDirectory opens the store in root, which is created if missing.
func NewDirectory(root string) (*Directory, error) {
	for _, dir := range []string{"clusters", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return nil, fmt.Errorf("make the instance directory: %w", err)
		}
	}
	d := &Directory{root: root}
	return d, d.clean()
}

// clean deletes temporary files of processes that were killed while they wrote. No write takes an hour.
func (d *Directory) clean() error {
	left, err := os.ReadDir(filepath.Join(d.root, "tmp"))
	if err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	for _, e := range left {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < time.Hour {
			continue // renamed meanwhile, or in use
		}
		if err := removeFile(filepath.Join(d.root, "tmp", e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// stripe returns the name of one of 1024 locks. Lock files are never deleted: otherwise two holders could
// lock different files of one name.
func stripe(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%03x", (int(sum[0])<<8|int(sum[1]))&0x3ff)
}

// Lock implements [Store].
func (d *Directory) Lock(cluster, key string) (func(), error) {
	return d.lock(stripe(cluster + "/" + key))
}

// LockCluster implements [Store].
func (d *Directory) LockCluster(cluster string) (func(), error) {
	return d.lock("cluster-" + stripe(cluster))
}

func (d *Directory) lock(name string) (func(), error) {
	path := filepath.Join(d.root, "locks", name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// plain matches names that are valid file names.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// cluster is the folder of a cluster, with further elements joined.
func (d *Directory) cluster(name string, elem ...string) string {
	return filepath.Join(append([]string{d.root, "clusters", fileName(name)}, elem...)...)
}

// fileName is the name itself, or a replacement that is not a valid name.
func fileName(name string) string {
	if plain.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "_" + hex.EncodeToString(sum[:12])
}

// Get implements [Store].
func (d *Directory) Get(cluster, key string) ([]Record, error) {
	dir := d.cluster(cluster, "machines", key)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read instances: %w", err)
	}
	var out []Record
	for _, e := range entries {
		var r Record
		ok, err := readJSON(filepath.Join(dir, e.Name()), &r)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// Put implements [Store].
func (d *Directory) Put(r Record) error {
	name := d.cluster(r.Cluster, "name")
	dir := d.cluster(r.Cluster, "machines", r.Key())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the machine's directory: %w", err)
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := d.replace(name, []byte(r.Cluster)); err != nil {
			return err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode instance %s: %w", r.ID, err)
	}
	return d.replace(filepath.Join(dir, r.ID+".json"), data)
}

// Drop implements [Store].
func (d *Directory) Drop(r Record) error {
	dir := d.cluster(r.Cluster, "machines", r.Key())
	if err := removeFile(filepath.Join(dir, r.ID+".json")); err != nil {
		return err
	}
	// The directory stays while it has other instances of the machine.
	err := os.Remove(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return fmt.Errorf("remove the machine's directory: %w", err)
}

// Page implements [Store].
func (d *Directory) Page(cluster, after string, limit int) ([]Record, string, error) {
	entries, err := names(d.cluster(cluster, "machines"))
	if err != nil {
		return nil, "", err
	}
	keys, next := pageOf(entries, after, limit)
	var out []Record
	for _, key := range keys {
		records, err := d.Get(cluster, key)
		if err != nil {
			return nil, "", err
		}
		out = append(out, records...)
	}
	return out, next, nil
}

// Clusters implements [Store].
func (d *Directory) Clusters() ([]string, error) {
	dirs, err := names(filepath.Join(d.root, "clusters"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(d.root, "clusters", dir, "name"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // only dependants yet
		}
		if err != nil {
			return nil, fmt.Errorf("read cluster name: %w", err)
		}
		out = append(out, string(name))
	}
	slices.Sort(out)
	return out, nil
}

func (d *Directory) dependant(cluster string, kind DependantKind, name string) string {
	return d.cluster(cluster, string(kind), fileName(name))
}

// Claim implements [Store]. A symbolic link appears atomically and never replaces a file: one call does what
// takes four with a file.
func (d *Directory) Claim(cluster string, want Dependant) (Dependant, error) {
	path := d.dependant(cluster, want.Kind, want.Name)
	data, err := json.Marshal(want)
	if err != nil {
		return Dependant{}, fmt.Errorf("encode %s %s: %w", want.Kind, want.Name, err)
	}
	err = os.Symlink(string(data), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return Dependant{}, fmt.Errorf("make the %s directory: %w", want.Kind, err)
		}
		err = os.Symlink(string(data), path)
	}
	if errors.Is(err, fs.ErrExist) {
		held, ok, err := readDependant(path)
		if err == nil && !ok {
			err = provider.Errorf(provider.Conflict, "%s %s was released this moment", want.Kind, want.Name)
		}
		return held, err
	}
	if err != nil {
		return Dependant{}, fmt.Errorf("make %s %s: %w", want.Kind, want.Name, err)
	}
	return want, nil
}

// Holder implements [Store].
func (d *Directory) Holder(cluster string, kind DependantKind, name string) (Dependant, bool, error) {
	return readDependant(d.dependant(cluster, kind, name))
}

func readDependant(path string) (d Dependant, found bool, err error) {
	data, err := os.Readlink(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Dependant{}, false, nil
	}
	if err != nil {
		return Dependant{}, false, fmt.Errorf("read the store: %w", err)
	}
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		return Dependant{}, false, fmt.Errorf("decode %s: %w", path, err)
	}
	return d, true, nil
}

// Release implements [Store].
func (d *Directory) Release(cluster string, held Dependant) error {
	return removeFile(d.dependant(cluster, held.Kind, held.Name))
}

// Dependants implements [Store].
func (d *Directory) Dependants(cluster string) ([]Dependant, error) {
	var out []Dependant
	for _, kind := range []DependantKind{NIC, Disk} {
		files, err := names(d.cluster(cluster, string(kind)))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			held, ok, err := readDependant(d.cluster(cluster, string(kind), file))
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, held)
			}
		}
	}
	slices.SortFunc(out, compareDependants)
	return out, nil
}

// Account implements [Store]. The file is read every time: if the folder is replaced while a process runs,
// the process sees another account. In a folder of an older version, the file is created at the first call.
func (d *Directory) Account() (string, error) {
	path := filepath.Join(d.root, "account")
	for range 2 {
		data, err := os.ReadFile(path)
		if name := strings.TrimSpace(string(data)); err == nil && name != "" {
			return name, nil
		}
		if err == nil {
			return "", fmt.Errorf("read the account: %s is empty", path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read the account: %w", err)
		}
		if err := d.create(path, []byte(newAccount()+"\n")); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("read the account: %s is deleted as often as it is created", path)
}

// newAccount is a new account's name, 26 random letters and digits.
func newAccount() string { return "kubemark-" + strings.ToLower(rand.Text()) }

// Password implements [Store]. It trims space, so that users may write the file with an editor.
func (d *Directory) Password() (string, error) {
	data, err := os.ReadFile(filepath.Join(d.root, passwordFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// SetPassword implements [Store].
func (d *Directory) SetPassword(password string) error {
	return d.replace(filepath.Join(d.root, passwordFile), []byte(password))
}

const passwordFile = "password"

// replace writes a file atomically.
func (d *Directory) replace(path string, data []byte) error {
	tmp, err := d.temporary(data)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(tmp)))
	}
	return nil
}

// create writes a file atomically, unless it exists.
func (d *Directory) create(path string, data []byte) error {
	tmp, err := d.temporary(data)
	if err != nil {
		return err
	}
	err = os.Link(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err := errors.Join(err, os.Remove(tmp)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// temporary writes data to a new file on the store's file system.
func (d *Directory) temporary(data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Join(d.root, "tmp"), "")
	if err != nil {
		return "", fmt.Errorf("make a temporary file: %w", err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write a temporary file: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return f.Name(), nil
}

func readJSON(path string, into any) (found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the store: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("decode %s: %w", path, err)
	}
	return true, nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove from the store: %w", err)
	}
	return nil
}

// names returns the entries of a directory in order; none if it is missing.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the store: %w", err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, nil
}
