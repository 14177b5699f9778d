// Numbers to bytes and back, for processes of one kind of machine: fields one after the other, unaligned.
//
// A reader trusts nothing: it throws std::invalid_argument where bytes are missing or left over, before it allocates
// what they do not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace arboretum {

using Bytes = std::vector<std::byte>;

class ByteWriter {
  public:
    template <class T>
    void put(const T& value) {
        put_all(std::span(&value, 1));
    }

    // Without their number.
    template <class T>
    void put_all(std::span<const T> values) {
        if (!values.empty()) std::memcpy(extend(values.size_bytes()), values.data(), values.size_bytes());
    }

    template <class T>
    void put_list(const std::vector<T>& values) {
        put(static_cast<uint64_t>(values.size()));
        put_all(std::span<const T>(values));
    }

    // Room for n bytes, to be written at once.
    std::byte* extend(size_t n) {
        bytes_.resize(bytes_.size() + n);
        return bytes_.data() + bytes_.size() - n;
    }

    Bytes take() { return std::move(bytes_); }

  private:
    Bytes bytes_;
};

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool done() const { return bytes_.empty(); }

    void require_done() const {
        if (!done()) throw std::invalid_argument("a message is longer than it should be");
    }

    std::span<const std::byte> bytes(uint64_t n) {
        if (n > bytes_.size()) throw std::invalid_argument("a message ends too early");
        const std::span<const std::byte> first = bytes_.first(n);
        bytes_ = bytes_.subspan(n);
        return first;
    }

    template <class T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
        T value;
        std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
        return value;
    }

    bool get_flag() {
        const auto flag = get<uint8_t>();
        if (flag > 1) throw std::invalid_argument("a message holds a flag that is neither 0 nor 1");
        return flag == 1;
    }

    // How many items of at least `size` bytes follow.
    uint64_t get_count(size_t size) {
        const auto n = get<uint64_t>();
        if (n > bytes_.size() / size) throw std::invalid_argument("a message ends too early");
        return n;
    }

    template <class T>
    std::vector<T> get_list() {
        std::vector<T> values(get_count(sizeof(T)));
        const std::span<const std::byte> source = bytes(values.size() * sizeof(T));
        if (!values.empty()) std::memcpy(values.data(), source.data(), source.size());
        return values;
    }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace arboretum
