// The numbers of the rows of a node, whatever else its entries hold: loops that do not read statistics are compiled
// once.
//
//   entries   │ statistic │ row │ codes │ statistic │ row │ codes │ …
//                          ▲ first       ◄─ stride ─►
#pragma once

#include <cstdint>
#include <cstring>

#include "base/types.hpp"

namespace arboretum {

class RowNumbers {
  public:
    template <class Entry>
    RowNumbers(const Entry* entries, int64_t n)
        : first_(reinterpret_cast<const char*>(&entries->row)), stride_(sizeof(Entry)), n_(n) {}

    int64_t size() const { return n_; }
    Row operator[](int64_t i) const {
        Row row;
        std::memcpy(&row, first_ + i * stride_, sizeof row);
        return row;
    }

  private:
    const char* first_;
    int64_t stride_, n_;
};

}  // namespace arboretum
